"""What is read along with a primary passage: definitions, the clauses it depends on, and its exceptions."""

from __future__ import annotations

import pytest

from arbitration.contracts import RetrievedCandidate, Role
from arbitration.definitions import terms_defined, terms_of, uses
from arbitration.following import depended_on
from arbitration.pipeline import Asked, ask
from arbitration.settings import EngineSettings
from tests.arbitration.engine.makers import HashEmbedder, SectionText, make_document, make_store

CONTRACT = make_document(
    SectionText(
        "1 Definitions",
        (
            "“Business Day” means a day on which the banks of Dublin are open.",
            "“Confidential Information” means all papers, samples and figures marked as secret.",
        ),
    ),
    SectionText("2 Deliveries", ("Goods are delivered to the warehouse at the harbour.",)),
    SectionText(
        "3 Secrecy",
        ("The Receiver shall keep Confidential Information under lock, subject to clause 7.2.",),
    ),
    SectionText("5 Payment", ("Invoices are paid by transfer in thirty days.",)),
    SectionText("7.2 Courts and authorities", ("What a judge orders to be shown may be shown.",)),
    SectionText("9 Visitors", ("Visitors wear a badge.",)),
)


def asked(question: str, *documents: object, **settings: bool) -> Asked:
    embedder = HashEmbedder()
    store = make_store(*(documents or (CONTRACT,)), embedder=embedder)  # type: ignore[arg-type]
    return ask(question=question, store=store, embedder=embedder, settings=EngineSettings(**settings))


def that_says(found: Asked, words: str) -> RetrievedCandidate:
    return next(c for c in found.audit.candidates if words in c.text)


def test_a_term_of_a_primary_passage_brings_its_definition() -> None:
    found = asked("Who shall keep information secret under lock?")
    assert that_says(found, "under lock").role is Role.PRIMARY
    definition = that_says(found, "samples and figures")
    assert definition.role is Role.SUPPORTING
    assert "Defines “Confidential Information”, used in the passage on p. 1, lines" in (
        definition.reason or ""
    )
    assert (definition.reason or "").endswith(
        ": “‘Confidential Information’ means all papers, samples and figures marked as secret”."
    )
    assert definition.needs_person is False


def test_the_clause_that_a_primary_passage_is_subject_to_is_read_along() -> None:
    found = asked("Who shall keep information secret under lock?")
    court = that_says(found, "judge orders")
    assert court.role is Role.SUPPORTING
    assert "Clause 7.2, on which the passage on p. 1" in (court.reason or "")


@pytest.mark.parametrize("part", ["definitions", "references"])
def test_each_part_can_be_switched_off(part: str) -> None:
    found = asked("Who shall keep information secret under lock?", **{part: False})
    words = {"definitions": "Defines “", "references": ", on which the passage"}[part]
    assert not any(words in (c.reason or "") for c in found.audit.candidates)


def test_an_exception_is_tied_to_its_rule_and_the_rule_to_its_exception() -> None:
    policy = make_document(
        SectionText("2 Gifts", ("Employees may accept gifts of up to 50 euros.",)),
        SectionText(
            "4 Lotteries", ("Prizes are not covered by section 2, save that cash is never allowed.",)
        ),
        SectionText("6 Garden", ("The garden is open at noon.",)),
    )
    limit = that_says(asked("What gifts may employees accept, up to how many euros?", policy), "Prizes")
    assert limit.role is Role.SUPPORTING
    assert "Limits the rule on p. 1, lines" in (limit.reason or "")
    rule = that_says(asked("Are prizes of cash allowed?", policy), "50 euros")
    assert rule.role is Role.SUPPORTING
    assert "The rule to which the passage on p. 1" in (rule.reason or "")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ('"Margin" means 2 per cent.', ("Margin",)),
        ("1.4 “Net Sales” shall mean all sums received.", ("Net Sales",)),
        ("Affiliate means any company under common control.", ("Affiliate",)),
        ("«Trabajador» significa toda persona contratada.", ("Trabajador",)),
        ("A later date means a later delivery.", ()),
        ("The Supplier pays the fee.", ()),
        ('The means to get there are listed. The meaning of this is plain. "The" means nothing.', ()),
    ],
)
def test_what_a_text_defines(text: str, terms: tuple[str, ...]) -> None:
    assert terms_defined(text) == terms


def test_terms_are_used_with_their_capitals() -> None:
    assert uses("Business Day", "paid on the next Business Days")
    assert not uses("Business Day", "on any business day")
    assert not uses("Margin", "the Margins2 table")
    assert terms_of("The Receiver keeps Confidential Information safe.") == (
        "Receiver",
        "Confidential Information",
    )


def test_a_text_depends_on_what_it_is_subject_to_and_not_on_what_it_mentions() -> None:
    found = depended_on("Subject to clause 7.2, fees are due as set out in Schedule 2 of this deed.")
    assert [reference.text for reference in found] == ["clause 7.2", "Schedule 2"]
    assert depended_on("The meeting in section 4 of the stadium was long.") == ()
