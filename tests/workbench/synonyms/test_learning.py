"""Dictionary learning, end to end: what only its meaning found teaches a word, and an approved word finds it."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from tests.workbench.cast import Cast
from tests.workbench.scene import make_document, make_run
from workbench.audit.models import AuditEvent
from workbench.documents.models import Document
from workbench.documents.restricting import restriction_set
from workbench.review.learning import phrase_frequency
from workbench.review.services import candidate_override, candidate_unsure
from workbench.runs.models import Candidate, Run
from workbench.runs.services import cache_key
from workbench.synonyms.models import DictionaryEntry, EntryStatus
from workbench.synonyms.services import entry_add, entry_approve, entry_reject
from workbench.trail.selectors import events_visible_to

pytestmark = pytest.mark.usefixtures("here")

TEXT = {
    "1 Purpose": ["This handbook is for all staff."],
    "2 Employee termination": ["Keys and badges go back on the last day.", "The exit interview is optional."],
    "3 Holidays": ["Thirty days a year."],
}
#: Shares no content word with the document; "the", "on" and "is" bring the vectors near.
QUESTION = "What is on the offboarding checklist?"


@pytest.fixture
def document(cast: Cast) -> Document:
    return make_document(collection=cast.alpha, owner=cast.analyst, name="handbook.txt", text=TEXT)


@pytest.fixture
def run(cast: Cast, document: Document) -> Run:
    return make_run(asker=cast.analyst, document=document, text=QUESTION)


def found_by_meaning(run: Run) -> Candidate:
    candidate = run.candidates.get(section_title="2 Employee termination")
    assert "embedding" in candidate.methods
    assert candidate.matched_keywords == []
    return candidate


def keep(cast: Cast, candidate: Candidate, role: str = "primary") -> None:
    candidate_override(
        actor=cast.reviewer, candidate=candidate, role=role, reason_code="wrong_role", comment="It is this."
    )


def test_evidence_that_no_keyword_found_teaches_an_alias(cast: Cast, run: Run) -> None:
    candidate = found_by_meaning(run)
    keep(cast, candidate)
    entry = DictionaryEntry.objects.get()
    assert (entry.term, entry.variant) == ("offboarding checklist", "employee termination")
    assert (entry.status, entry.kind, entry.language) == ("proposed", "alias", "en")
    assert entry.proposed_from == candidate.reviews.get()
    assert entry.proposed_by.is_system
    assert AuditEvent.objects.filter(action="vocabulary.proposed", object_id=str(entry.pk)).exists()


@pytest.mark.parametrize("decide", [entry_approve, entry_reject])
def test_the_trail_keeps_the_hash_of_a_learned_phrase(cast: Cast, run: Run, decide: Any) -> None:
    keep(cast, found_by_meaning(run))
    entry = decide(actor=cast.reviewer, entry=DictionaryEntry.objects.get())
    digest = {"sha256": hashlib.sha256(entry.variant.encode()).hexdigest(), "length": len(entry.variant)}
    told = AuditEvent.objects.filter(action__startswith="vocabulary.")
    assert [event.after["variant"] for event in told] == [digest, digest]
    by_hand = entry_add(actor=cast.admin, collection=cast.alpha, term="leaver", variant="exit interview")
    assert AuditEvent.objects.get(object_id=str(by_hand.pk), action="vocabulary.added").after["variant"] == (
        "exit interview"
    )


def test_the_trail_keeps_a_proposal_from_whom_its_run_is_hidden(
    cast: Cast, run: Run, document: Document
) -> None:
    keep(cast, found_by_meaning(run))
    restriction_set(actor=cast.admin, document=document, readers=[], reason="An investigation.")
    told = AuditEvent.objects.filter(action="vocabulary.proposed").get()
    assert told in events_visible_to(cast.admin)
    assert told not in events_visible_to(cast.auditor)
    entry_approve(actor=cast.admin, entry=DictionaryEntry.objects.get())
    assert told in events_visible_to(cast.auditor), "a pair in use is everybody's"


@pytest.mark.parametrize(
    "found",
    [
        {"matched_keywords": ["offboarding"]},
        {"methods": ["toc", "embedding"]},
        {"methods": ["pattern", "embedding"]},
        {"methods": ["bm25"]},
        {"methods": ["human"]},
    ],
    ids=str,
)
def test_nothing_is_learned_from_evidence_that_words_found(
    cast: Cast, run: Run, found: dict[str, list[str]]
) -> None:
    candidate = found_by_meaning(run)
    Candidate.objects.filter(pk=candidate.pk).update(**found)
    candidate.refresh_from_db()
    keep(cast, candidate)
    assert not DictionaryEntry.objects.exists()


@pytest.mark.parametrize("role", ["discarded", "tangential"])
def test_nothing_is_learned_from_what_was_not_kept(cast: Cast, run: Run, role: str) -> None:
    candidate = found_by_meaning(run)
    if candidate.verdict.role == role:
        candidate_unsure(actor=cast.reviewer, candidate=candidate)
    else:
        keep(cast, candidate, role)
    assert not DictionaryEntry.objects.exists()


def test_a_rejected_pair_is_not_proposed_again(cast: Cast, run: Run, document: Document) -> None:
    keep(cast, found_by_meaning(run))
    entry_reject(actor=cast.reviewer, entry=DictionaryEntry.objects.get())
    keep(
        cast,
        found_by_meaning(make_run(asker=cast.analyst, document=document, text=QUESTION, use_cache=False)),
    )
    assert DictionaryEntry.objects.get().status == EntryStatus.REJECTED


def test_a_proposal_changes_no_answer_until_a_person_approves_it(
    cast: Cast, run: Run, document: Document
) -> None:
    assert run.not_found_reason.startswith("no_keyword_match") or run.not_found is False
    keep(cast, found_by_meaning(run))
    before = make_run(asker=cast.analyst, document=document, text=QUESTION)
    assert before.pk == run.pk  # the cache still answers

    entry_approve(actor=cast.reviewer, entry=DictionaryEntry.objects.get())
    after = make_run(asker=cast.analyst, document=document, text=QUESTION)
    assert after.pk != run.pk
    candidate = after.candidates.get(section_title="2 Employee termination")
    assert "toc" in candidate.methods
    assert "employee termination" in candidate.matched_keywords


def test_the_proof_of_absence_names_the_variant(cast: Cast, document: Document) -> None:
    question = "What about the sabbatical?"
    entry_add(actor=cast.admin, collection=cast.alpha, term="sabbatical", variant="unpaid leave")
    run = make_run(asker=cast.analyst, document=document, text=question)
    assert run.not_found
    assert run.not_found_reason.startswith("no_keyword_match")
    assert "'sabbatical'" in run.not_found_reason
    assert "'unpaid leave'" in run.not_found_reason


def test_absence_is_not_proved_while_a_variant_stands_in_the_document(cast: Cast, document: Document) -> None:
    entry_add(actor=cast.admin, collection=cast.alpha, term="vacation", variant="holidays")
    run = make_run(asker=cast.analyst, document=document, text="How many vacation days?")
    assert "no_keyword_match" not in run.not_found_reason
    assert run.candidates.filter(section_title="3 Holidays").exists()


def test_the_cache_key_follows_the_approved_dictionary(cast: Cast, document: Document) -> None:
    def key() -> str:
        return cache_key(collection=cast.alpha, document=document, text=QUESTION, strategy="offline")

    empty = key()
    entry = entry_add(actor=cast.admin, collection=cast.alpha, term="leaver", variant="employee termination")
    with_entry = key()
    assert with_entry != empty
    entry_reject(actor=cast.admin, entry=entry)
    assert key() == empty  # the same dictionary, the same answer
    entry_approve(actor=cast.admin, entry=entry)
    assert key() == with_entry
    entry_add(actor=cast.admin, collection=cast.alpha, term="leaver", variant="exit interview")
    assert key() not in {empty, with_entry}


def test_the_dictionary_of_another_collection_changes_nothing(cast: Cast, document: Document) -> None:
    before = cache_key(collection=cast.alpha, document=document, text=QUESTION, strategy="offline")
    entry_add(actor=cast.outsider, collection=cast.beta, term="leaver", variant="employee termination")
    after = cache_key(collection=cast.alpha, document=document, text=QUESTION, strategy="offline")
    assert after == before


def test_phrases_are_counted_by_passage_whatever_their_case(document: Document) -> None:
    counts = phrase_frequency(document, ["KEYS and badges", "thirty days", "100%_", "sabbatical"])
    assert counts == {"KEYS and badges": 1, "thirty days": 1, "100%_": 0, "sabbatical": 0}
