"""When the installation trains by itself."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workbench.rerankers.makers import World, truths
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.rerankers.models import TrainingRun, TrainingSchedule
from workbench.rerankers.services import (
    due_before,
    schedule_change,
    schedule_current,
    schedule_follow,
    training_claimed_here,
)

moments = st.datetimes(min_value=datetime(2025, 1, 1), max_value=datetime(2030, 1, 1)).map(  # noqa: DTZ001
    lambda moment: moment.replace(tzinfo=UTC)
)


@given(moments, st.integers(1, 28), st.integers(0, 23))
def test_the_due_moment_is_the_latest_that_is_past(now: datetime, day: int, hour: int) -> None:
    due = due_before(now, day=day, hour=hour)

    assert due <= now
    assert (due.day, due.hour, due.minute) == (day, hour, 0)
    assert (now - due).days < 31


@pytest.fixture
def due(world: World) -> datetime:
    """A moment at which the schedule is due; the last look at it was long ago."""
    schedule_current()
    TrainingSchedule.objects.update(considered_until=datetime(2026, 1, 15, tzinfo=UTC), min_new_labels=10)
    return datetime(2026, 2, 1, 3, 5, tzinfo=UTC)


def test_it_trains_once_per_due_moment(due: datetime, world: World) -> None:
    world.label(truths(range(3)))

    assert schedule_follow(now=due).run is not None
    assert schedule_follow(now=due) is None
    assert TrainingRun.objects.get().trigger == "schedule"


def test_too_few_new_labels_pass_a_moment_over_on_record(due: datetime, world: World) -> None:
    assert schedule_follow(now=due).run is None
    assert "new labels" in AuditEvent.objects.get(action="training.passed_over").reason
    assert schedule_follow(now=due) is None


def test_another_training_passes_a_moment_over(due: datetime, world: World, system: User) -> None:
    world.label(truths(range(3)))
    training_claimed_here(actor=system)

    assert "running already" in schedule_follow(now=due).reason


def test_off_is_off_and_a_change_makes_up_for_nothing(due: datetime, world: World, system: User) -> None:
    world.label(truths(range(3)))
    schedule_change(actor=system, is_on=False)
    assert schedule_follow(now=due) is None
    schedule_change(actor=system, is_on=True)
    assert schedule_follow(now=due) is None  # the moment lies before the change
