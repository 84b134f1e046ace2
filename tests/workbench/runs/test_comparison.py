"""One question under several strategies, and one decision for all of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workbench.cast import Cast
from tests.workbench.review.signed import signed
from tests.workbench.scene import Scene
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.labeling.models import Label
from workbench.review.blindness import DecideFirst
from workbench.review.comparison import compared, comparison_decide, comparison_start
from workbench.review.models import QueueItem, ReasonCode, Review
from workbench.review.policy import policy_set
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import Comparison, RoleChoice, Run


@pytest.fixture
def comparison(scene: Scene) -> Comparison:
    for run in scene.comparison.runs.all():
        for stage in (run_detect, run_arbitrate, run_answer):
            stage(run_id=run.pk)
    return scene.comparison


def shared(comparison: Comparison) -> str:
    """A candidate that every run has and nobody decided."""
    rows = compared(list(comparison.runs.order_by("pk")))
    return next(row.candidate.candidate_id for row in rows if all(row.verdicts) and not row.decided)


def start(cast: Cast, scene: Scene, strategies: list[str]) -> Comparison:
    return comparison_start(
        actor=cast.analyst,
        collection=cast.alpha,
        document=scene.document,
        text="A new question about records?",
        strategies=strategies,
    )


def test_a_run_made_before_is_used(scene: Scene) -> None:
    assert scene.run in scene.comparison.runs.all()
    assert scene.comparison.runs.count() == 2


@pytest.mark.parametrize("strategies", [[], ["offline"], ["offline", "offline"], ["offline", "nonsense"]])
def test_what_cannot_be_compared_leaves_nothing(cast: Cast, scene: Scene, strategies: list[str]) -> None:
    before = Run.objects.count()

    with pytest.raises(WorkbenchError):
        start(cast, scene, strategies)
    assert Run.objects.count() == before


def test_one_decision_counts_in_every_run(cast: Cast, comparison: Comparison) -> None:
    name = shared(comparison)

    made = comparison_decide(
        actor=cast.reviewer,
        comparison=comparison,
        candidate_id=name,
        role="tangential",
        reason_code=ReasonCode.WRONG_ROLE,
    )

    assert {review.run_id for review in made} == set(comparison.runs.values_list("pk", flat=True))
    assert {review.role for review in made} == {"tangential"}


def test_the_decision_is_a_label_of_every_runs_candidate(cast: Cast, comparison: Comparison) -> None:
    name = shared(comparison)

    made = comparison_decide(actor=cast.reviewer, comparison=comparison, candidate_id=name, role="supporting")

    labels = Label.objects.filter(review__in=made)
    assert {label.candidate.run_id for label in labels} == set(comparison.runs.values_list("pk", flat=True))
    assert {(label.role, label.binary_label, label.person_id) for label in labels} == {
        ("supporting", 1, cast.reviewer.pk)
    }
    assert len({label.question_hash for label in labels}) == 1


def test_all_or_none(cast: Cast, comparison: Comparison) -> None:
    name = shared(comparison)
    last = comparison.runs.order_by("pk").last()
    signed(last)
    before = Review.objects.count()

    with pytest.raises(Conflict):
        comparison_decide(actor=cast.reviewer, comparison=comparison, candidate_id=name, role="primary")
    assert Review.objects.count() == before


def test_refusals(cast: Cast, comparison: Comparison) -> None:
    with pytest.raises(Conflict):
        comparison_decide(actor=cast.reviewer, comparison=comparison, candidate_id="p9_l9_l9", role="primary")
    with pytest.raises(WorkbenchError):
        comparison_decide(
            actor=cast.reviewer, comparison=comparison, candidate_id=shared(comparison), role="king"
        )
    with pytest.raises(NotAllowed):
        comparison_decide(
            actor=cast.analyst, comparison=comparison, candidate_id=shared(comparison), role="primary"
        )


def test_disagreements_come_first(comparison: Comparison) -> None:
    order = [row.disagreement for row in compared(list(comparison.runs.order_by("pk")))]

    assert order == sorted(order, reverse=True)


def test_nothing_tells_a_hidden_role(cast: Cast, comparison: Comparison, client_as: Any) -> None:
    """The machine's role decides whether a decision needs a reason, and so which refusal comes."""
    name = shared(comparison)
    QueueItem.objects.filter(candidate__candidate_id=name, run__in=comparison.runs.all()).update(
        is_blind=True
    )
    for candidate_id in (name, "p9_l9_l9"):
        for role in RoleChoice.values:
            with pytest.raises(DecideFirst):
                comparison_decide(
                    actor=cast.reviewer,
                    comparison=comparison,
                    candidate_id=candidate_id,
                    role=role,
                    reason_code=ReasonCode.OTHER,
                )
    client = client_as(cast.reviewer)
    assert client.get(comparison.get_absolute_url()).status_code == 302
    assert client.get(f"/api/v1/comparisons/{comparison.pk}/candidates/").json()["code"] == "decide_first"
    assert client_as(cast.analyst).get(comparison.get_absolute_url()).status_code == 200


def test_only_finished_runs_are_compared(cast: Cast, scene: Scene, client_as: Any) -> None:
    policy_set(actor=cast.admin, collection=cast.alpha, blind_share=1, second_share=0)
    done = scene.comparison.runs.get(status="done")
    unfinished = scene.comparison.runs.exclude(pk=done.pk).get()
    for stage in (run_detect, run_arbitrate):
        stage(run_id=unfinished.pk)
    for person in (cast.reviewer, cast.analyst):
        client = client_as(person)
        told = client.get(f"/api/v1/comparisons/{scene.comparison.pk}/candidates/").json()
        assert told["runs"] == [done.pk]
        assert {len(row["verdicts"]) for row in told["candidates"]} == {1}
        page = client.get(scene.comparison.get_absolute_url())
        assert [run["url"] for run in page.context["runs"]] == [done.get_absolute_url()]
        assert [run["url"] for run in page.context["unfinished"]] == [unfinished.get_absolute_url()]
        assert page.context["poll_url"]
        assert unfinished.strategy in page.text
