"""What the models' pages say of missing gold, and when it will be there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse

from arbitration.contracts import Role
from tests.training.makers import label, question
from tests.workbench.cast import Cast
from tests.workbench.rerankers.makers import World, truths
from training.gate import GatePolicy
from training.labels import LabelRow, LabelSource
from training.snapshot import QuestionSides
from workbench.accounts.models import User
from workbench.rerankers.outlook import GoldOutlook, blind_share_wanted, gold_outlook, training_waits_for

ClientAs = Callable[[User | None], Client]
NOW = datetime(2026, 11, 20, tzinfo=UTC)


def gold(number: int, *, days_ago: int, role: Role = Role.PRIMARY) -> LabelRow:
    row = replace(label(LabelSource.ADJUDICATED, role, question=question(number)), blind=True)
    return replace(row, created_at=NOW - timedelta(days=days_ago))


def outlook(everything: Sequence[LabelRow], holdout: Sequence[LabelRow] = (), **policy: int) -> GoldOutlook:
    sides = QuestionSides.of(row.question for row in [*everything, *holdout])
    return gold_outlook(
        holdout=holdout, everything=everything, sides=sides, policy=GatePolicy(**policy), now=NOW
    )  # type: ignore[arg-type]


def test_first_gold_is_missing_for_any_comparison_at_all() -> None:
    rows = [gold(n, days_ago=10) for n in range(4)] + [
        gold(4, days_ago=40),
        gold(5, days_ago=3, role=Role.DISCARDED),
    ]

    seen = outlook(rows)

    assert (seen.way, seen.target) == (None, "cross_validation")
    assert (seen.have, seen.need, seen.gained) == ((5, 1, 6), (10, 10, 10), (4, 1, 5))
    assert seen.weeks == 39, "nine of the other kind at one in thirty days"
    assert outlook([gold(n, days_ago=10) for n in range(82)]).counted == (10, 0, 10), (
        "more than enough is enough"
    )


def test_where_nothing_comes_it_is_never_reached() -> None:
    rows = [gold(n, days_ago=10) for n in range(12)]

    assert outlook(rows).weeks is None, "no pair that does not answer has come"
    assert outlook([gold(n, days_ago=60) for n in range(12)]).weeks is None
    assert outlook([]).weeks is None


def test_then_it_is_missing_for_the_holdout() -> None:
    rows = [gold(n, days_ago=10, role=Role.PRIMARY if n % 2 else Role.DISCARDED) for n in range(20)]
    need = {"min_positives": 4, "min_negatives": 4, "min_questions": 6}

    crossed = outlook(rows, rows[:6], **need)

    assert (crossed.way, crossed.target) == ("cross_validation", "holdout")
    assert (crossed.have, crossed.need, crossed.weeks) == ((3, 3, 6), (4, 4, 6), 2)
    held = outlook(rows, rows[:8], **need)
    assert (held.way, held.target, held.weeks) == ("holdout", None, None)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "4 of 10 pairs that answer, 8 of 10 that do not, 2 of 10 questions; at the pace of the last 30 days"),
        ("es", "4 de 10 pares que responden, 8 de 10 que no, 2 de 10 preguntas"),
    ],
)  # fmt: skip
def test_the_pages_and_the_api_say_it(
    language: str, words: str, cast: Cast, client_as: ClientAs, world: World
) -> None:
    world.label(truths(range(2)), source=LabelSource.ADJUDICATED, blind=True)
    client = client_as(cast.admin)
    cast.admin.language = language
    for page in ("models:models", "models:plan"):
        body = client.get(reverse(page), headers={"accept-language": language}).content.decode()
        assert words in " ".join(body.split()), page

    plan = client.get("/api/v1/trainings/plan/").json()
    assert plan["gold_outlook"]["target"] == "cross_validation"
    assert plan["gold_outlook"]["have"] == {"positives": 4, "negatives": 8, "questions": 2}
    assert plan["gold_outlook"]["weeks"] == 18, "eight questions at two in thirty days"
    assert plan["has_enough_gold"] is False


def test_what_is_said_follows_what_is_labelled(cast: Cast, client_as: ClientAs, world: World) -> None:
    """It is kept between two looks, and not longer than it is true."""
    client = client_as(cast.admin)
    for questions in (1, 2):
        world.label(truths([questions]), source=LabelSource.ADJUDICATED, blind=True)
        assert f"{questions} of 10 questions" in client.get(reverse("models:models")).content.decode()


def test_the_next_training_waits_for_labels_at_the_pace_of_the_last_month() -> None:
    assert training_waits_for(new=60, need=50, gained=5).weeks == 0
    assert training_waits_for(new=20, need=50, gained=60).weeks == 3, "thirty labels at sixty in thirty days"
    assert training_waits_for(new=20, need=50, gained=0).weeks is None


def test_a_larger_blind_share_is_proposed_where_gold_is_far_away() -> None:
    far = outlook([gold(n, days_ago=10) for n in range(4)] + [gold(5, days_ago=3, role=Role.DISCARDED)])
    assert far.weeks == 39
    assert blind_share_wanted(far, share=0.05) == 25, "in 8 weeks instead of 39"
    assert blind_share_wanted(far, share=0.5) is None, "more than half is asked of nobody"
    assert blind_share_wanted(outlook([]), share=0.0) == 10, "where none comes, the least"
    near = replace(far, weeks=8)
    assert blind_share_wanted(near, share=0.05) is None
    assert blind_share_wanted(replace(far, target=None), share=0.05) is None
