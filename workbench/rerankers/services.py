"""Starting trainings, by hand or by the schedule, and what an admin sets about them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import (
    Permission,
    administers,
    permissions_anywhere,
    require_administrator,
)
from workbench.audit.actions import Action
from workbench.audit.locks import LockSpace, advisory_lock
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.infra.dispatch import dispatch_on_commit
from workbench.infra.leases import lease_free

from . import champion
from .data import Standing, standing_now
from .failing import training_fail
from .models import (
    ACTIVE_STATES,
    ModelVersion,
    RunState,
    TrainingRun,
    TrainingSchedule,
    Trigger,
)
from .selectors import labels_since_last_training

if TYPE_CHECKING:
    from training.fitting import TrainingConfig


def may_train(*, user: User) -> bool:
    """Whether the person may start and stop trainings, after which the gate decides: admins of a collection or of the
    installation."""
    return user.is_system or user.is_staff or Permission.MANAGE in permissions_anywhere(user=user)


def may_move(*, user: User) -> bool:
    """Whether the person may say which model serves and what the gate demands: admins of the installation, since that
    decides in every collection, and whoever makes a collection of their own is its admin."""
    return user.is_system or administers(user)


def may_read(*, user: User) -> bool:
    """Whether the person may read the models' pages: members, and admins of the installation."""
    return user.is_system or user.is_staff or Permission.VIEW in permissions_anywhere(user=user)


def _require_admin(user: User) -> None:
    if not may_train(user=user):
        raise NotAllowed(_("Only admins may do this."))


# --- starting ---------------------------------------------------------------------------------------


def training_start(
    *, actor: User, trigger: str = Trigger.PERSON, config: TrainingConfig | None = None
) -> TrainingRun:
    """Queues a training for the worker of the ``train`` queue.

    Raises :class:`NotAllowed`, or :class:`Conflict` while another training has not ended.
    """
    _require_admin(actor)
    try:
        with transaction.atomic():
            run = _run_create(actor=actor, trigger=trigger, config=config)
            dispatch_on_commit("models.train", run_id=run.pk)
    except IntegrityError as error:
        raise _running_already() from error
    return run


def training_claimed_here(*, actor: User, config: TrainingConfig | None = None) -> TrainingRun:
    """Queues a training for this very process, as ``manage.py retrain`` does; no worker is woken."""
    _require_admin(actor)
    try:
        with transaction.atomic():
            return _run_create(actor=actor, trigger=Trigger.COMMAND, config=config)
    except IntegrityError as error:
        raise _running_already() from error


def _run_create(*, actor: User, trigger: str, config: TrainingConfig | None) -> TrainingRun:
    if not advisory_lock(LockSpace.TRAINING, wait=False):
        raise _running_already()
    if TrainingRun.objects.filter(state__in=ACTIVE_STATES).exists():
        raise _running_already()
    run = TrainingRun.objects.create(
        trigger=trigger,
        requested_by=actor,
        config=config.model_dump(mode="json") if config else {},
    )
    audit_record(actor=actor, action=Action.TRAINING_REQUESTED, obj=run, after={"trigger": str(trigger)})
    return run


def _running_already() -> Conflict:
    return Conflict(_("A training is running already. Wait until it has ended."), code="training_running")


def training_cancel(*, actor: User, run: TrainingRun) -> None:
    """Stops a training; its worker notices at its next step. Raises :class:`Conflict` when it has ended."""
    _require_admin(actor)
    with transaction.atomic():
        changed = TrainingRun.objects.filter(pk=run.pk, state__in=ACTIVE_STATES).update(
            state=RunState.CANCELLED, finished_at=Now(), lease_owner="", lease_until=None
        )
        if changed != 1:
            raise Conflict(_("This training has ended already."))
        audit_record(actor=actor, action=Action.TRAINING_CANCELLED, obj=run)


def trainings_sweep() -> list[int]:
    """Fails trainings whose worker is gone; returns the queued ones whose message was lost, to be sent again.

    A training is not begun again by itself: the next one, by hand or by the schedule, starts from fresh labels.
    """
    abandoned = TrainingRun.objects.filter(lease_free(), state__in=ACTIVE_STATES).exclude(
        state=RunState.QUEUED
    )
    for run_id in abandoned.values_list("pk", flat=True):
        training_fail(
            run_id=run_id,
            reason=_("The worker of this training is gone. The champion stays; start the training again."),
        )
    queued = TrainingRun.objects.filter(lease_free(), state=RunState.QUEUED)
    given_up = queued.filter(attempts__gte=settings.MAX_ATTEMPTS)
    for run_id in given_up.values_list("pk", flat=True):
        training_fail(run_id=run_id, reason=_("This training stopped its worker three times."))
    waiting = queued.filter(attempts__lt=settings.MAX_ATTEMPTS).exclude(trigger=Trigger.COMMAND)
    # A command trains in its own process; one that is still queued after a minute has lost it.
    stale = queued.filter(trigger=Trigger.COMMAND, created_at__lt=timezone.now() - timedelta(minutes=1))
    for run_id in stale.values_list("pk", flat=True):
        training_fail(run_id=run_id, reason=_("The command of this training ended before it began."))
    return list(waiting.values_list("pk", flat=True))


# --- the schedule -----------------------------------------------------------------------------------


def schedule_current() -> TrainingSchedule:
    """The installation's schedule, made at first sight."""
    schedule, made = TrainingSchedule.objects.get_or_create(pk=1)
    if made:
        schedule.refresh_from_db()  # the moment the database gave it
    return schedule


def standing_current() -> Standing:
    """How things stand for training, with the schedule made at first sight."""
    try:
        return standing_now()
    except TrainingSchedule.DoesNotExist:
        schedule_current()
        return standing_now()


def schedule_change(*, actor: User, **values: Any) -> TrainingSchedule:
    """Sets when to train and what the gate demands; moments that are past already are not made up for.

    Raises :class:`NotAllowed` or :class:`WorkbenchError` for values outside their range.
    """
    require_administrator(actor)
    schedule_current()
    names = sorted(values)
    try:
        with transaction.atomic():
            row = TrainingSchedule.objects.select_for_update().get(pk=1)
            before = {name: getattr(row, name) for name in names}
            TrainingSchedule.objects.filter(pk=1).update(**values, considered_until=Now())
            if before != values:
                audit_record(
                    actor=actor,
                    action=Action.TRAINING_SCHEDULE_CHANGED,
                    obj=row,
                    before=before,
                    after=dict(values),
                )
    except IntegrityError as error:
        raise WorkbenchError(
            _("A day is 1 to 28, an hour 0 to 23, and the gate needs at least one gold pair of each kind."),
            code="schedule_out_of_range",
        ) from error
    return schedule_current()


def due_before(now: datetime, *, day: int, hour: int) -> datetime:
    """The latest due moment that is not after ``now`` (aware UTC): the hour of the day of a month."""
    this_month = now.replace(day=day, hour=hour, minute=0, second=0, microsecond=0)
    if this_month <= now:
        return this_month
    last_of_previous = now.replace(day=1) - timedelta(days=1)
    return last_of_previous.replace(day=day, hour=hour, minute=0, second=0, microsecond=0)


def next_due(schedule: TrainingSchedule) -> datetime:
    """The first due moment after now, whether the schedule is on or not."""
    last = due_before(timezone.now(), day=schedule.day, hour=schedule.hour)
    return (last.replace(day=28) + timedelta(days=7)).replace(day=schedule.day)


@dataclass(frozen=True, slots=True)
class Considered:
    """What the schedule did at a due moment."""

    run: TrainingRun | None
    reason: str


def schedule_follow(*, now: datetime) -> Considered | None:
    """Starts the training that is due, once per due moment; None when nothing is due.

    A due moment with too few new labels, or during another training, is passed over, on record.
    """
    schedule = schedule_current()
    due = due_before(now, day=schedule.day, hour=schedule.hour)
    if not schedule.is_on or schedule.considered_until >= due:
        return None
    mine = TrainingSchedule.objects.filter(pk=1, is_on=True, considered_until__lt=due)
    if mine.update(considered_until=now) != 1:
        return None
    new = labels_since_last_training()
    if new < schedule.min_new_labels:
        return _passed_over(
            _("%(new)d new labels; the schedule asks for at least %(least)d")
            % {"new": new, "least": schedule.min_new_labels}
        )
    try:
        return Considered(training_start(actor=User.objects.system(), trigger=Trigger.SCHEDULE), "")
    except Conflict as error:
        return _passed_over(error.message)


def _passed_over(reason: str) -> Considered:
    with transaction.atomic():
        audit_record(
            actor=User.objects.system(),
            action=Action.TRAINING_PASSED_OVER,
            obj=schedule_current(),
            reason=reason,
        )
    return Considered(None, reason)


# --- models -----------------------------------------------------------------------------------------


def model_roll_back(*, actor: User, version: ModelVersion, reason: str) -> None:
    """A version that once passed serves again. Raises as :func:`champion.champion_roll_back`, or NotAllowed."""
    require_administrator(actor)
    champion.champion_roll_back(actor=actor, version=version, reason=reason)


def model_shadow(*, actor: User, version: ModelVersion | None) -> None:
    """A model scores live candidates without deciding, or (None) no longer does."""
    require_administrator(actor)
    champion.shadow_set(actor=actor, version=version)
