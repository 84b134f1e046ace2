"""What sentences and openings say about the force of a text."""

from __future__ import annotations

import pytest

from arbitration.pool import PoolDocument
from arbitration.precedence.dates import applies_from, effective_day, issued_day, version_in, years_in
from arbitration.precedence.documents import DocumentFacts, document_relations
from arbitration.precedence.statements import (
    edits,
    overrides,
    replacement_in,
    says_it_is_over,
    winner_of_conflict,
)
from arbitration.precedence.texts import sentences_of


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("This policy is effective 1 March 2024.", (2024, 3, 1)),
        ("comes into force on July 1, 2011", (2011, 7, 1)),
        ("in force from 2019-02-28 on", (2019, 2, 28)),
        ("Vigente desde el 15 de enero de 2020.", (2020, 1, 15)),
        ("effective 03.04.2021", (2021, 4, 3)),
        ("effective May 2016", (2016, 5, 0)),
    ],
)
def test_the_day_from_which_a_text_applies(text: str, day: tuple[int, int, int]) -> None:
    found = effective_day(text)
    assert found is not None
    assert found[0] == day


def test_a_day_of_issue_is_no_day_of_effect() -> None:
    assert effective_day("Issued on 4 May 2019") is None
    assert issued_day("Issued on 4 May 2019") == ((2019, 5, 4), "4 May 2019")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Version 3.1", (3, 1)),
        ("Document no. 7, Rev. 2", (2,)),
        ("travel policy v12", (12,)),
        ("Second edition, 2015", (2,)),
        ("Tercera edición", (3,)),
        ("Travel Policy", None),
    ],
)
def test_versions_and_editions(text: str, version: tuple[int, ...] | None) -> None:
    assert version_in(text) == version


def test_years_stand_in_file_names_and_no_years_in_amounts() -> None:
    assert years_in("fee-schedule-2025") == [2025]
    assert years_in("USD 2,000 or 2025,50 and 1999.5") == []


@pytest.mark.parametrize(
    ("sentence", "form"),
    [
        ("This Standard supersedes the Records Schedule of 2016.", "replaces"),
        ("This circular was withdrawn on 30 June 2022 and replaced by Circular 8/2022.", "replaced_by"),
        ("The Dogs Act 1984 is repealed.", "ended"),
        ("Queda derogada la Ley 8/1992.", "ended"),
        ("The 2014 rules are no longer in force.", "ended"),
        ("Records are kept for ten years.", None),
    ],
)
def test_sentences_of_replacement(sentence: str, form: str | None) -> None:
    said = replacement_in(sentence)
    assert (said.form if said else None) == form


def test_changing_a_clause_is_told_from_speaking_of_changes() -> None:
    assert edits("Clause 3 is amended so that the notice is three months.")
    assert edits("In place of the period in clause 3, seven years apply.")
    assert not edits("The Companies Act 2006 as amended applies.")
    assert not edits("This Agreement may be amended in writing.")
    assert not edits("A checklist is not a substitute for judgement.")
    assert not edits("Records are kept for ten years.")


def test_an_exception_that_sets_a_text_aside_is_told_from_a_condition() -> None:
    assert overrides("Notwithstanding clause 13.1, the Supplier may assign.")
    assert overrides("El artículo 4 no se aplica a los becarios.")
    assert not overrides("Fees are due within ten days unless agreed otherwise.")


@pytest.mark.parametrize(
    ("sentence", "winner"),
    [
        ("If an order form conflicts with these terms, the order form prevails.", "the order form"),
        (
            "In case of inconsistency the Schedule takes precedence over the body.",
            "of inconsistency the Schedule",
        ),
        ("Conflicts are resolved in the following order: the order form; the schedules.", "the order form"),
        ("The rights of the majority prevail.", None),
    ],
)
def test_which_of_two_texts_prevails(sentence: str, winner: str | None) -> None:
    found = winner_of_conflict(sentence)
    assert found == winner or (winner is not None and (found or "").endswith(winner.split(" ", 3)[-1]))


def test_an_opening_says_that_its_text_is_over() -> None:
    assert says_it_is_over("Backup Procedure\nStatus: obsolete")
    assert says_it_is_over("SUPERSEDED - see IS-08\nPassword Standard")
    assert not says_it_is_over("Backup Procedure\nStatus: approved")


def test_sentences_end_at_no_number_and_no_shortened_word() -> None:
    text = "4.2 The Client pays under cl. 3 of Rev. 2. Interest accrues."
    assert list(sentences_of(text)) == ["4.2 The Client pays under cl. 3 of Rev. 2.", "Interest accrues."]


# --- documents --------------------------------------------------------------------------------------


def facts(name: str, opening: str, *statements: str, effective_date: str | None = None) -> DocumentFacts:
    document = PoolDocument(document_id=name, name=name, page_count=1, effective_date=effective_date)
    return DocumentFacts(document, opening, statements)


def related(*several: DocumentFacts) -> list[tuple[str, str, str]]:
    return [(one.over, one.under, one.kind) for one in document_relations(several)]


def test_the_later_version_prevails_whichever_comes_first() -> None:
    old = facts("travel 2018.md", "Travel Policy\nEffective 1 January 2018")
    new = facts("travel 2024.md", "Travel Policy\nEffective 1 March 2024")
    expected = [("travel 2024.md", "travel 2018.md", "version")]
    assert related(old, new) == related(new, old) == expected


def test_the_date_that_people_recorded_counts_before_the_printed_one() -> None:
    first = facts("a.md", "Travel Policy\nEffective 1 January 2018", effective_date="2025-01-01")
    second = facts("b.md", "Travel Policy\nEffective 1 March 2024")
    assert related(first, second) == [("a.md", "b.md", "version")]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Annual Report\n31 December 2018", "Annual Report\n31 December 2019"),
        ("Supply Agreement\nDated 4 May 2018", "Supply Agreement\nDated 4 May 2020"),
        ("Privacy Policy\nHarrow Analytics Ltd\n1 May 2018", "Privacy Policy\nPell Foods Ltd\n1 May 2020"),
        ("Travel Policy\nEffective 1 May 2018", "Visitor Policy\nEffective 1 May 2020"),
    ],
)
def test_of_reports_contracts_and_other_companies_the_later_one_ends_nothing(first: str, second: str) -> None:
    assert related(facts("a.md", first), facts("b.md", second)) == []


def test_a_draft_replaces_nothing() -> None:
    old = facts("travel 2018.md", "Travel Policy\nEffective 1 January 2018")
    assert related(old, facts("travel 2024.md", "DRAFT\nTravel Policy\nEffective 1 March 2024")) == []


def test_two_documents_that_each_claim_to_replace_the_other_replace_nothing() -> None:
    said = "This Standard supersedes the {}."
    first = facts("a.md", "Data Retention Standard", said.format("Records Schedule"))
    second = facts("b.md", "Records Schedule", said.format("Data Retention Standard"))
    assert related(first, second) == []


def test_a_later_amendment_changes_an_earlier_one() -> None:
    contract = facts("c.md", "Master Services Agreement\n4 February 2020")
    one = facts("a1.md", "Amendment No. 1 to the Master Services Agreement\n1 June 2021")
    two = facts("a2.md", "Amendment No. 2 to the Master Services Agreement\n1 June 2022")
    assert set(related(contract, one, two)) == {
        ("a1.md", "c.md", "amends"),
        ("a2.md", "c.md", "amends"),
        ("a2.md", "a1.md", "amends"),
    }


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("This Amendment takes effect on 1 October 2025.", "1 October 2025"),
        ("Effective date: July 1, 2011", "July 1, 2011"),
        ("Vigente desde el 15 de enero de 2020.", "15 de enero de 2020"),
        ("It applies to invoices of 1 May 2024.", ""),
        ("Signed on 9 June 2022. It is in force.", ""),
    ],
)
def test_a_text_applies_from_the_day_that_it_states_alone(text: str, day: str) -> None:
    assert applies_from(text) == day
