"""Maintenance without a shell: asked for on a page or by the API, done by a worker, on record from request to end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from arbitration.errors import ArbitrationError
from workbench.accounts.models import User
from workbench.accounts.permissions import administers
from workbench.audit.actions import Action
from workbench.audit.services import audit_record, audit_verify, verification_note
from workbench.documents.embedding import AnotherEncoder, active_space, current_embedder
from workbench.documents.reembedding import Reembedding, space_to_fill
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.infra.dispatch import dispatch_on_commit
from workbench.infra.leases import Heartbeat, LeaseLost, lease_claim, lease_free, leased, new_owner
from workbench.infra.storable import storable

from .models import Job, JobKind, JobState
from .operations import may_operate

logger = structlog.get_logger(__name__)

#: A request whose message should have arrived long ago.
LOST_AFTER = timedelta(seconds=10)
#: Links kept outside that a verification is compared with.
MOST_ANCHORS = 10_000

Tell = Callable[[int, int], None]


def may_start(user: User, kind: JobKind) -> bool:
    """Whoever reads the trail has it verified; what changes the installation is for its administrators."""
    return user.is_system or administers(user) or (kind == JobKind.TRAIL and may_operate(user))


def job_start(*, actor: User, kind: str, anchors: Mapping[int, str] | None = None) -> Job:
    """Asks for the work; one under way is given back. ``anchors`` are links kept outside, of a verification.

    Raises :class:`NotAllowed`, :class:`WorkbenchError` for an unknown kind or too many anchors, :class:`Conflict` if
    the one under way compares with other anchors.
    """
    if kind not in JobKind.values:
        raise WorkbenchError(_("There is no such job."), code="kind_unknown")
    if not may_start(actor, JobKind(kind)):
        raise NotAllowed(_("Only an administrator of the installation does this."))
    if len(anchors or {}) > MOST_ANCHORS:
        raise WorkbenchError(
            _("At most %(n)d anchors. Keep the newest.") % {"n": MOST_ANCHORS}, code="too_many_anchors"
        )
    given = {str(position): digest for position, digest in (anchors or {}).items()}
    under_way = Job.objects.filter(kind=kind, state=JobState.WAITING)
    if (job := under_way.first()) is not None:
        return _same(job, given)
    try:
        with transaction.atomic():
            job = Job.objects.create(kind=kind, requested_by=actor, given=given)
            _record(job, actor, Action.JOB_REQUESTED, {"kind": kind, "anchors": len(given)})
            dispatch_on_commit("operations.job", job_id=job.pk)
    except IntegrityError:  # somebody else asked at the same moment
        return _same(under_way.get(), given)
    return job


def _same(job: Job, given: dict[str, str]) -> Job:
    """The job under way, if it does all that was asked for."""
    if given and given != job.given:
        raise Conflict(
            _("A verification with other anchors is under way. Start yours once it has ended."),
            code="other_anchors",
        )
    return job


def job_run(*, job_id: int) -> None:
    """Does the work. Safe to repeat: it is done once, and a lost worker's is begun anew."""
    rows = Job.objects.filter(pk=job_id)
    owner = new_owner()
    if not lease_claim(rows.filter(state=JobState.WAITING), owner=owner):
        return
    with leased(rows, owner=owner) as heartbeat:
        job = rows.get()
        try:
            if job.attempts > settings.MAX_ATTEMPTS:
                raise WorkbenchError(
                    _("This stopped its worker three times and was given up. Request it again.")
                )
            result = WORK[JobKind(job.kind)](job, heartbeat)
            heartbeat.check()
            _end(job, owner, state=JobState.DONE, result=result)
        except LeaseLost:
            return
        except (WorkbenchError, ArbitrationError, AnotherEncoder) as error:
            _end(job, owner, state=JobState.FAILED, failure=storable(str(error)))
        except Exception as error:
            # Nothing fails silently: whatever it was stands on the page, and the log has the rest.
            logger.exception("job.failed", job=job.pk, kind=job.kind)
            failure = _("An error of the program stopped this: %(kind)s. The log says more.")
            _end(job, owner, state=JobState.FAILED, failure=failure % {"kind": type(error).__name__})
            raise


def jobs_to_wake() -> list[int]:
    """Keys of work whose message was lost or whose worker is gone."""
    rows = Job.objects.filter(lease_free(), state=JobState.WAITING, created_at__lt=Now() - LOST_AFTER)
    return list(rows.order_by("pk").values_list("pk", flat=True)[:100])


def _verify(job: Job, heartbeat: Heartbeat) -> dict[str, Any]:
    """The whole chain, compared with the anchors given."""
    anchors = {int(position): digest for position, digest in job.given.items()}
    report = audit_verify(anchors=anchors)
    heartbeat.check()
    verification_note(report)
    return report.as_json() | {
        "position": report.position,
        "problem": report.problem,
        "anchors": len(anchors),
    }


def _fill(job: Job, heartbeat: Heartbeat) -> dict[str, Any]:
    """What passages lack in the space in use. A new encoder's space is for the owner of the tables, in a shell."""
    embedder = current_embedder()
    work = Reembedding(embedder=embedder, space=space_to_fill(embedder=embedder, changes_over=False))
    Job.objects.filter(pk=job.pk).update(total=work.progress.passages)
    for progress in work.steps():
        heartbeat.check()
        Job.objects.filter(pk=job.pk).update(done=progress.passages_done)
    so_far = work.progress
    return {
        "passages": so_far.passages_done,
        "documents": so_far.documents_done,
        "vectors": so_far.vectors,
        "tokens": so_far.tokens,
        "left": work.left(),
        "space": active_space().name,
    }


WORK: dict[JobKind, Callable[[Job, Heartbeat], dict[str, Any]]] = {
    JobKind.TRAIL: _verify,
    JobKind.VECTORS: _fill,
}


def _end(job: Job, owner: str, **values: Any) -> None:
    with transaction.atomic():
        rows = Job.objects.filter(pk=job.pk, lease_owner=owner, state=JobState.WAITING)
        if not rows.update(finished_at=Now(), lease_owner="", lease_until=None, **values):
            raise LeaseLost
        job.refresh_from_db()
        after = {"kind": job.kind, "state": job.state, **job.result}
        _record(job, User.objects.system(), Action.JOB_ENDED, after, reason=job.failure[:300])


def _record(job: Job, actor: User, action: Action, after: dict[str, Any], reason: str = "") -> None:
    audit_record(actor=actor, action=action, obj=job, after=after, reason=reason)
