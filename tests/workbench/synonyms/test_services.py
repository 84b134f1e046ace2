"""Deciding, adding and importing: who may, what is refused, and what stays on record."""

from __future__ import annotations

import contextlib

import pytest
from django.db import IntegrityError, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workbench.cast import Cast
from workbench.audit.models import AuditEvent
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.synonyms.models import DictionaryEntry, EntryStatus
from workbench.synonyms.selectors import dictionary_of
from workbench.synonyms.services import checked_pair, entry_add, entry_approve, entry_reject
from workbench.synonyms.transfer import entries_csv, entries_import


def proposed(cast: Cast, term: str = "leaver", variant: str = "former employee") -> DictionaryEntry:
    return DictionaryEntry.objects.create(
        collection=cast.alpha, term=term, variant=variant, proposed_by=cast.analyst
    )


def actions() -> list[str]:
    return list(AuditEvent.objects.order_by("id").values_list("action", flat=True))


@pytest.mark.parametrize("name", ["reviewer", "admin"])
def test_reviewers_and_admins_decide(cast: Cast, name: str) -> None:
    entry = entry_approve(actor=cast.members[name], entry=proposed(cast))
    assert (entry.status, entry.decided_by) == (EntryStatus.APPROVED, cast.members[name])
    assert entry.decided_at is not None


@pytest.mark.parametrize("name", ["analyst", "annotator", "auditor", "outsider", "staff"])
def test_nobody_else_does(cast: Cast, name: str) -> None:
    actor, entry = getattr(cast, name), proposed(cast)
    for act in (
        lambda: entry_approve(actor=actor, entry=entry),
        lambda: entry_reject(actor=actor, entry=entry),
        lambda: entry_add(actor=actor, collection=cast.alpha, term="a b", variant="c d"),
        lambda: entries_import(actor=actor, collection=cast.alpha, content=b"term,variant\nleaver,goer\n"),
    ):
        with pytest.raises(NotAllowed):
            act()
    assert DictionaryEntry.objects.get().status == EntryStatus.PROPOSED


def test_removing_is_a_decision_on_record(cast: Cast) -> None:
    entry = entry_add(actor=cast.admin, collection=cast.alpha, term="leaver", variant="former employee")
    assert dictionary_of(collection=cast.alpha) is not None
    entry_reject(actor=cast.reviewer, entry=entry)
    assert dictionary_of(collection=cast.alpha) is None
    entry_approve(actor=cast.admin, entry=entry)
    assert actions() == ["vocabulary.added", "vocabulary.removed", "vocabulary.approved"]
    event = AuditEvent.objects.get(action="vocabulary.removed")
    assert (event.before["status"], event.after["status"]) == ("approved", "rejected")
    assert event.after["term"] == "leaver"


def test_deciding_twice_the_same_way_is_a_conflict(cast: Cast) -> None:
    entry = entry_reject(actor=cast.admin, entry=proposed(cast))
    with pytest.raises(Conflict):
        entry_reject(actor=cast.reviewer, entry=entry)
    assert actions() == ["vocabulary.rejected"]


def test_a_pair_is_one_entry_whichever_way_round(cast: Cast) -> None:
    entry_add(actor=cast.admin, collection=cast.alpha, term="Leaver", variant="former employee")
    with pytest.raises(Conflict):
        entry_add(actor=cast.admin, collection=cast.alpha, term="FORMER employee", variant="leaver")
    with pytest.raises(IntegrityError), transaction.atomic():
        proposed(cast, "former Employee", "LEAVER")


def test_adding_a_proposed_pair_approves_it(cast: Cast) -> None:
    entry = proposed(cast)
    added = entry_add(actor=cast.admin, collection=cast.alpha, term="former employee", variant="leaver")
    assert added.pk == entry.pk
    assert added.status == EntryStatus.APPROVED


def test_the_pair_works_in_both_directions(cast: Cast) -> None:
    entry_add(actor=cast.admin, collection=cast.alpha, term="leaver", variant="former employee")
    dictionary = dictionary_of(collection=cast.alpha)
    assert dictionary is not None
    assert dictionary.variants("leavers") == ("former employee",)
    assert dictionary.variants("former employees") == ("leaver",)


@pytest.mark.parametrize(
    ("term", "variant"),
    [
        ("", "x y"),
        ("leaver", " \t\x00"),
        ("leaver", "Leaver "),
        ("the", "leaver"),
        ("x" * 121, "leaver"),
        ("§", "a"),
    ],
)
def test_unusable_terms_are_refused_with_a_reason(term: str, variant: str) -> None:
    with pytest.raises(WorkbenchError) as refused:
        checked_pair(term, variant)
    assert refused.value.message.endswith(".")


@pytest.mark.parametrize("field", ["status", "decided_by"])
def test_the_database_knows_that_a_person_decides(cast: Cast, field: str) -> None:
    entry = proposed(cast)
    change = {"status": EntryStatus.APPROVED} if field == "status" else {"decided_by": cast.admin}
    with pytest.raises(IntegrityError), transaction.atomic():
        DictionaryEntry.objects.filter(pk=entry.pk).update(**change)


# --- files ------------------------------------------------------------------------------------------


def test_a_file_is_taken_in_with_a_report_of_the_rows_that_were_not(cast: Cast) -> None:
    entry_add(actor=cast.admin, collection=cast.alpha, term="leaver", variant="former employee")
    proposed(cast, "vacation", "holidays")
    content = (
        "Term;Variant;Kind;Language\r\n"
        "former employee;leaver;alias;en\r\n"
        "data breach;violación de datos;translation;es\r\n"
        ";nothing;;\r\n"
        "\r\n"
        "vacation;holidays;;\r\n"
        "breach;incident;synonym;\r\n"
        "breach;incident;;fr\r\n"
        "SLA;service level;;\r\n"
        "service level;sla;;\r\n"
    )
    report = entries_import(actor=cast.admin, collection=cast.alpha, content=content.encode("utf-8-sig"))
    assert (report.added, report.known) == (2, 2)
    assert [row.line for row in report.refused] == [4, 6, 7, 8]
    assert "alias" in report.refused[2].problem
    translation = DictionaryEntry.objects.get(term="data breach")
    assert (translation.kind, translation.language, translation.decided_by) == (
        "translation",
        "es",
        cast.admin,
    )
    event = AuditEvent.objects.get(action="vocabulary.imported")
    assert event.after["added"] == 2
    assert event.after["refused"] == 4


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "columns_missing"),
        (b"word,other\na,b\n", "columns_missing"),
        (b"term,variant\n\xff\xfe,b\n", "not_text"),
        (b'term,variant\n"a"b,c\n', "not_csv"),
        (b"term,variant\n" + b"a1,b2\n" * 5001, "too_many_rows"),
        (b"x" * (1024 * 1024 + 1), "too_large"),
    ],
)
def test_a_file_that_is_no_such_table_changes_nothing(cast: Cast, content: bytes, code: str) -> None:
    with pytest.raises(WorkbenchError) as refused:
        entries_import(actor=cast.admin, collection=cast.alpha, content=content)
    assert refused.value.code == code
    assert not DictionaryEntry.objects.exists()


def test_an_export_is_safe_in_a_spreadsheet_and_comes_back_as_it_was(cast: Cast) -> None:
    entry_add(actor=cast.admin, collection=cast.alpha, term="=SUM(A1)", variant="-total, all")
    entry_reject(actor=cast.admin, entry=proposed(cast))
    text = entries_csv(collection=cast.alpha, user=cast.auditor)
    assert "'=SUM(A1)" in text
    assert "\n=" not in text
    report = entries_import(actor=cast.outsider, collection=cast.beta, content=text.encode())
    assert report.added == 1
    assert [row.text for row in report.refused] == ["leaver = former employee"]
    copy = DictionaryEntry.objects.get(collection=cast.beta)
    assert (copy.term, copy.variant) == ("=SUM(A1)", "-total, all")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(lambda t: f"term,variant\n{t}".encode()))
def test_no_file_breaks_the_import(cast: Cast, content: bytes) -> None:
    with contextlib.suppress(WorkbenchError):  # a refusal, and never another error
        entries_import(actor=cast.admin, collection=cast.alpha, content=content)
    assert DictionaryEntry.objects.exclude(status=EntryStatus.APPROVED).count() == 0
