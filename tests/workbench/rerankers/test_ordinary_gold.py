"""Gold from ordinary work: blind decisions measure, by cross-validation while they are few."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.workbench.cast import Cast
from tests.workbench.rerankers.makers import World, retrained, truths
from tests.workbench.scene import make_document, make_run
from training.labels import LabelSource
from training.snapshot import QuestionSides, Side
from workbench.accounts.models import User
from workbench.labeling.models import Label
from workbench.labeling.selectors import labels_for_gold
from workbench.rerankers.aliases import alias_version
from workbench.rerankers.data import learning_data
from workbench.rerankers.models import Snapshot
from workbench.rerankers.store import dataset_get
from workbench.rerankers.trainings import gate_policy
from workbench.review.models import QueueItem
from workbench.review.policy import policy_of, policy_set
from workbench.review.services import candidate_approve, candidate_choose


def blind_work(world: World, numbers: Iterable[int], *, flip: Iterable[int] = ()) -> list[Label]:
    """Pairs that an adjudicator settled blind: gold, whatever side their question is on."""
    return world.label(truths(numbers), source=LabelSource.ADJUDICATED, blind=True, flip=flip)


def test_a_reviewers_blind_decision_is_gold_and_one_in_sight_is_not(cast: Cast, here: None) -> None:
    document = make_document(collection=cast.alpha, owner=cast.analyst)
    policy_set(actor=cast.admin, collection=cast.alpha, blind_share=1, second_share=0)
    run = make_run(asker=cast.analyst, document=document)
    items = list(QueueItem.objects.filter(run=run, is_blind=True).select_related("candidate").order_by("pk"))
    candidate_choose(actor=cast.reviewer, candidate=items[0].candidate, role="primary")

    assert [row.source for row in labels_for_gold()] in ([LabelSource.APPROVE], [LabelSource.OVERRIDE])

    policy_set(actor=cast.admin, collection=cast.alpha, blind_share=0, second_share=0)
    other = make_run(asker=cast.analyst, document=document, text="Who may read client data?")
    seen = other.candidates.filter(verdict__role__isnull=False).first()
    candidate_approve(actor=cast.reviewer, candidate=seen)
    assert Label.objects.filter(blind=False, person=cast.reviewer).exists()
    assert len(labels_for_gold()) == 1


def test_a_tenth_is_blind_where_nobody_set_another_share(cast: Cast, settings) -> None:  # type: ignore[no-untyped-def]
    from workbench.settings import base

    settings.BLIND_SHARE = base.BLIND_SHARE
    assert policy_of(collection=cast.alpha).blind_share == 0.1
    kept = policy_set(actor=cast.admin, collection=cast.alpha, blind_share=0, second_share=0)
    assert policy_of(collection=cast.alpha) == kept
    assert kept.blind_share == 0


@pytest.fixture
def at_work(world: World) -> World:
    """A hundred questions with labels in sight, and twenty with gold; nothing of it imported."""
    world.label(truths(range(100)), source=LabelSource.ANNOTATOR)
    blind_work(world, range(200, 220))
    return world


def test_the_first_model_of_ordinary_work_is_deployed_by_cross_validation(
    at_work: World, system: User
) -> None:
    way, gold = learning_data().yardstick(gate_policy())
    assert (way, len(set(gold.groups))) == ("cross_validation", 20)

    run = retrained(system)

    decision = run.decision
    assert decision.outcome == "deployed", decision.reasons
    assert (decision.way, decision.is_first, decision.gold.rows) == ("cross_validation", True, len(gold))
    assert decision.gain["low"] > 0
    assert decision.champion_report["rows_hash"] == decision.challenger_report["rows_hash"] == gold.digest
    assert alias_version() == run.challenger


def test_no_label_of_a_holdout_question_trains_what_is_deployed(at_work: World, system: User) -> None:
    run = retrained(system)

    sides = QuestionSides.of(dict.fromkeys(Label.objects.order_by("pk").values_list("question", flat=True)))
    trained = set(run.snapshot.labels.values_list("label__question", flat=True))
    measured = set(run.decision.gold.labels.values_list("label__question", flat=True))
    assert all(sides.side(text) is Side.TRAINING for text in trained)
    assert trained & measured, "gold of the training side trains, and is left out where it is scored"
    assert any(sides.side(text) is Side.HOLDOUT for text in measured), "or this says nothing"


def test_the_champion_is_made_again_without_the_questions_it_is_measured_on(
    at_work: World, system: User
) -> None:
    """Else it would answer by heart: it learned from these very labels."""
    first = retrained(system)
    assert first.decision.outcome == "deployed", first.decision.reasons
    direct = first.challenger
    rows = dataset_get(first.snapshot.rows_hash)
    assert len(rows) == first.snapshot.rows

    again = retrained(system)

    assert again.challenger == direct
    assert (again.decision.outcome, again.decision.way) == ("kept", "cross_validation")
    assert "tie" in again.decision.reasons[0], "made the same way from the same rows, both say the same"


def test_a_champion_of_an_earlier_release_is_measured_as_it_is(at_work: World, system: User) -> None:
    first = retrained(system)
    assert first.decision.outcome == "deployed", first.decision.reasons
    Snapshot.objects.update(rows_hash="")
    at_work.label(truths(range(300, 330)))

    second = retrained(system)

    assert second.decision.way == "cross_validation"
    assert second.decision.champion_report is not None


def test_worse_labels_deploy_nothing(at_work: World, system: User) -> None:
    first = retrained(system)
    assert first.decision.outcome == "deployed", first.decision.reasons
    pairs = truths(range(100))
    at_work.label(pairs, source=LabelSource.ADJUDICATED, flip=range(0, len(pairs), 2))

    second = retrained(system)

    assert second.decision.outcome in ("kept", "refused"), second.decision.reasons
    assert alias_version() == first.challenger


def test_very_little_gold_refuses_before_anything_is_trained_again(
    world: World, system: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.label(truths(range(60)))
    blind_work(world, range(200, 205))
    monkeypatch.setattr(
        "workbench.rerankers.trainings.cross_fitted", lambda *_, **__: pytest.fail("trained again")
    )

    run = retrained(system)

    assert run.decision.outcome == "refused"
    assert "not enough gold" in run.decision.reasons[0]
    assert run.challenger is not None
