"""The result follows the effective roles: the person's word, else the machine's."""

from __future__ import annotations

import pytest

from tests.workbench.cast import Cast
from tests.workbench.scene import make_document, make_run
from workbench.review.candidates import candidates_of
from workbench.review.models import ReasonCode
from workbench.review.results import run_audit, run_result
from workbench.review.services import candidate_approve, candidate_override, candidate_unsure
from workbench.runs.models import Answer, Candidate, RoleChoice, Run, Verdict

pytestmark = pytest.mark.usefixtures("here")

P, S, T, D = RoleChoice.PRIMARY, RoleChoice.SUPPORTING, RoleChoice.TANGENTIAL, RoleChoice.DISCARDED


@pytest.fixture
def run(cast: Cast) -> Run:
    return make_run(asker=cast.analyst, document=make_document(collection=cast.alpha, owner=cast.analyst))


def machine_says(run: Run, *roles: str | None) -> list[Candidate]:
    """The candidates, with these roles given by the machine; the last role for all the rest."""
    found = list(run.candidates.order_by("position"))
    assert len(found) >= 2
    padded = [*roles, *[roles[-1]] * len(found)][: len(found)]
    for order, (candidate, role) in enumerate(zip(found, padded, strict=True)):
        Verdict.objects.filter(candidate=candidate).update(
            role=role, needs_person=role is None, probability=round(0.9 - 0.1 * order, 2), order=order
        )
    survivors = [role for role in padded if role in (P, S, T)]
    lost = not survivors and None not in padded
    Run.objects.filter(pk=run.pk).update(
        not_found=lost, not_found_reason="all_discarded: none carries evidence" if lost else ""
    )
    run.refresh_from_db()
    return [Candidate.objects.get(pk=candidate.pk) for candidate in found]


def people_say(cast: Cast, candidate: Candidate, role: str) -> None:
    candidate_override(actor=cast.reviewer, candidate=candidate, role=role, reason_code=ReasonCode.WRONG_ROLE)


def test_the_record_of_an_undecided_run_is_the_machines(run: Run) -> None:
    result, audit = run_result(run), run_audit(run)

    assert result.confidence == pytest.approx(run.confidence)
    assert len(audit.candidates) == len(audit.provenances) == run.candidates.count()
    roles = [candidate.role for candidate in result.candidates]
    assert D not in roles
    assert roles == sorted(roles, key=[P, S, T].index)


def test_discarding_everything_loses_the_answer_with_the_peoples_reason(cast: Cast, run: Run) -> None:
    for candidate in machine_says(run, P, T, D):
        if candidate.verdict.role != D:
            people_say(cast, candidate, D)

    result = run_result(Run.objects.get(pk=run.pk))

    assert result.not_found
    assert result.not_found_reason == "all_discarded: people discarded every candidate."
    assert result.candidates == []
    assert result.confidence == 0.0


def test_one_passage_made_primary_finds_the_answer(cast: Cast, run: Run) -> None:
    first, second, *_ = machine_says(run, D)
    people_say(cast, second, P)

    result = run_result(Run.objects.get(pk=run.pk))

    assert not result.not_found
    assert result.not_found_reason is None
    assert [candidate.candidate_id for candidate in result.candidates] == [second.candidate_id]
    assert result.candidates[0].decided_by is not None
    assert result.candidates[0].decided_by.kind == "person"
    assert result.confidence == pytest.approx(0.8)
    audit = run_audit(run)
    kept = {p.candidate_id: p.llm_role for p in audit.provenances}
    assert kept[second.candidate_id] == kept[first.candidate_id] == D  # the machine's word stays


def test_an_undecided_candidate_is_no_proof_that_nothing_is_there(cast: Cast, run: Run) -> None:
    first, *_ = machine_says(run, P, None)
    people_say(cast, first, D)

    result = run_result(Run.objects.get(pk=run.pk))

    assert not result.not_found
    assert {candidate.role for candidate in result.candidates} == {None}


def test_a_change_of_mind_counts_and_cant_tell_counts_not(cast: Cast, run: Run) -> None:
    first, *_ = machine_says(run, P, D)
    people_say(cast, first, D)
    candidate_approve(actor=cast.reviewer, candidate=first)
    assert run_result(run).candidates[0].role == P

    people_say(cast, first, D)
    candidate_unsure(actor=cast.reviewer, candidate=first)
    assert run_result(run).candidates[0].role == P


def test_the_record_takes_the_same_number_of_queries_however_many_decisions(
    cast: Cast, run: Run, django_assert_max_num_queries
) -> None:
    for candidate in machine_says(run, P, D):
        if candidate.verdict.role != S:
            people_say(cast, candidate, S)

    run = Run.objects.select_related("question__document", "collection").get(pk=run.pk)
    with django_assert_max_num_queries(2):
        candidates = candidates_of(run)
    with django_assert_max_num_queries(0):
        run_result(run, candidates)
        run_audit(run, candidates)


@pytest.mark.parametrize(
    ("machine", "person", "is_stale"),
    [
        ((P, D), S, True),
        ((P, D), D, True),
        ((D, P), P, True),
        ((D, P), T, False),
        ((T, P), D, False),
        ((S, P), T, True),
        ((D, D), T, True),  # nothing was found, and now something is
        ((T, D), D, True),  # the last that was left is gone
        ((None, P), T, False),
        ((None, P), P, True),
    ],
)
def test_an_answer_is_stale_exactly_when_its_evidence_changed(
    cast: Cast, run: Run, machine: tuple[str | None, ...], person: str, is_stale: bool
) -> None:
    first, *_ = machine_says(run, *machine)

    people_say(cast, first, person)

    assert Answer.objects.get(run=run).is_stale == is_stale


def test_agreeing_leaves_the_answer_as_it_is(cast: Cast, run: Run) -> None:
    for candidate in machine_says(run, P, D):
        candidate_approve(actor=cast.reviewer, candidate=candidate)

    assert not Answer.objects.get(run=run).is_stale
