"""A run ends with the last required decision: its answer is written anew by itself, and it can be signed."""

from __future__ import annotations

import pytest

from tests.workbench.cast import PASSWORD, Cast
from tests.workbench.pages.conftest import HTMX, ClientAs
from tests.workbench.scene import Scene, make_run
from workbench.errors import Conflict
from workbench.review.answer_standing import AnswerState, standing_of
from workbench.review.models import QueueItem, Regeneration, RegenerationState, SignatureMeaning
from workbench.review.record import record_digest, signed_record
from workbench.review.regeneration import regeneration_carry_out
from workbench.review.services import (
    candidate_approve,
    candidate_override,
    candidate_undo,
    candidate_unsure,
)
from workbench.review.signing import items_to_decide, run_sign
from workbench.runs.models import Run, Verdict


def open_items(run: Run) -> list[QueueItem]:
    return [item for item in items_to_decide(run=run) if item.candidate]


@pytest.fixture
def run(scene: Scene) -> Run:
    """A run of which several passages must be decided, one of them not by the machine alone."""
    candidates = scene.run.candidates.order_by("pk")[:3]
    QueueItem.objects.filter(run=scene.run).update(is_required=False)
    QueueItem.objects.filter(candidate__in=[row.pk for row in candidates]).update(is_required=True)
    return scene.run


def coming(run: Run) -> Regeneration | None:
    return run.regenerations.filter(state=RegenerationState.WAITING).first()


def decide_all_but_the_last(cast: Cast, run: Run) -> QueueItem:
    *others, last = open_items(run)
    for item in others:
        candidate_approve(actor=cast.reviewer, candidate=item.candidate)
    return last


def other_role(item: QueueItem) -> str:
    return "discarded" if item.candidate.verdict.role == "primary" else "primary"


def test_the_last_decision_has_the_answer_written_and_then_the_run_can_be_signed(
    cast: Cast, run: Run, client_as: ClientAs
) -> None:
    last = decide_all_but_the_last(cast, run)
    candidate_override(
        actor=cast.reviewer, candidate=last.candidate, role=other_role(last), reason_code="wrong_role"
    )

    made = coming(run)
    assert made is not None
    assert made.requested_by == type(cast.reviewer).objects.system()
    page = client_as(cast.reviewer).get(run.get_absolute_url())
    assert b"Writing the answer from the decisions" in page.content
    with pytest.raises(Conflict, match="being written"):
        sign(cast, run)

    regeneration_carry_out(regeneration_id=made.pk)
    part = client_as(cast.reviewer).get(run.get_absolute_url(), {"part": "answer"}, **HTMX)
    assert b"Writing the answer" not in part.content
    assert b'class="button button--primary" href="/runs/' in part.content
    assert standing_of(run=run, answer=run.answers.last()).state == AnswerState.FINAL
    sign(cast, run)


def sign(cast: Cast, run: Run) -> None:
    run_sign(
        actor=cast.reviewer,
        run=run,
        password=PASSWORD,
        meaning=SignatureMeaning.REVIEWED,
        seen_sha256=record_digest(signed_record(run)),
    )


def test_while_anything_waits_nothing_is_written(cast: Cast, run: Run) -> None:
    first, *_ = open_items(run)
    candidate_override(
        actor=cast.reviewer, candidate=first.candidate, role=other_role(first), reason_code="wrong_role"
    )
    assert run.answers.last().is_stale
    assert coming(run) is None


def test_cannot_tell_keeps_the_run_open_and_says_who(cast: Cast, run: Run, client_as: ClientAs) -> None:
    last = decide_all_but_the_last(cast, run)
    candidate_unsure(actor=cast.reviewer, candidate=last.candidate)
    assert [item.pk for item in open_items(run)] == [last.pk]
    assert coming(run) is None
    page = client_as(cast.reviewer).get(run.get_absolute_url())
    assert f"({cast.reviewer} cannot tell)" in page.content.decode()


def test_an_answer_takes_in_what_a_person_approved(cast: Cast, run: Run) -> None:
    """A model's verdict that asked for a person is no evidence until one agrees; the role stays the same."""
    last = decide_all_but_the_last(cast, run)
    Verdict.objects.filter(candidate=last.candidate).update(
        role="primary", decided_by_kind="llm", decided_by_name="m", needs_person=True, needs_person_reasons=["x"]
    )  # fmt: skip
    candidate_approve(actor=cast.reviewer, candidate=last.candidate)
    made = coming(run)
    assert made is not None
    regeneration_carry_out(regeneration_id=made.pk)
    cited = {
        cite["candidate_id"]
        for sentence in run.answers.last().body["sentences"]
        for cite in sentence["citations"]
    }
    assert last.candidate.candidate_id in cited

    candidate_undo(actor=cast.reviewer, candidate=last.candidate)
    assert run.answers.last().is_stale
    assert coming(run) is None  # the card waits again


def test_nearest_passages_that_people_judged_tangential_are_no_answer(cast: Cast, scene: Scene) -> None:
    run = make_run(asker=cast.analyst, document=scene.document, text="How long are payment records kept?")
    near = list(run.candidates.order_by("pk")[:3])
    QueueItem.objects.filter(run=run).update(is_required=False)
    Verdict.objects.filter(candidate__run=run).update(role="discarded", needs_person=False)
    Verdict.objects.filter(candidate__in=near).update(
        role="tangential", needs_person=True, needs_person_reasons=["x"]
    )
    for row in near:
        candidate_approve(actor=cast.reviewer, candidate=run.candidates.get(pk=row.pk))
    made = coming(run)
    assert made is not None
    regeneration_carry_out(regeneration_id=made.pk)
    body = run.answers.last().body
    assert body["statement"].startswith("No passage answers this question. 3 come near")
    assert body["sentences"] == []


def test_what_is_decided_later_is_taken_in_as_well(cast: Cast, scene: Scene) -> None:
    """Nothing waits any more: each change of the evidence has the answer written anew, one version at a time."""
    run = make_run(asker=cast.analyst, document=scene.document, text="How long are payment records kept?")
    QueueItem.objects.filter(run=run).update(is_required=False)
    chosen = run.candidates.filter(verdict__role__in=["primary", "supporting"]).first()
    candidate_override(actor=cast.reviewer, candidate=chosen, role="discarded", reason_code="wrong_role")
    candidate_undo(actor=cast.reviewer, candidate=chosen)
    assert run.regenerations.count() == 1
