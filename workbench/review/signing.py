"""Signing a run and reopening it. The database holds the same rules (``protection.py``)."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_any_permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.models import AuditEvent
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.runs.models import ReviewState, Run, RunStatus

from .models import (
    ItemState,
    NotificationKind,
    QueueItem,
    Regeneration,
    RegenerationState,
    Reopening,
    Signature,
    SignatureMeaning,
)
from .notifications import notify
from .record import record_digest, signed_record

#: So many wrong passwords inside the window, and signing is refused until they are older.
MOST_FAILURES, FAILURE_WINDOW = 5, timedelta(minutes=10)
_REFUSED = Action.SIGNATURE_REFUSED


def run_sign(*, actor: User, run: Run, password: str, meaning: str, seen_sha256: str) -> Signature:
    """The person signs the record they saw (``seen_sha256``), with their password once more.

    Raises :class:`NotAllowed` (no right, wrong password), :class:`Conflict` (something waits for a decision, the
    record changed meanwhile, signed already) or :class:`WorkbenchError` (unknown meaning). A wrong password is on
    record, so call this outside any other transaction.
    """
    if not has_permission(actor, run.collection, Permission.REVIEW):
        raise NotAllowed(_("Only reviewers of this collection may sign."))
    if meaning not in SignatureMeaning.values:
        raise WorkbenchError(_("Choose what your signature means."), code="meaning_unknown")
    _confirm_password(actor=actor, run=run, password=password)
    with transaction.atomic():
        locked = _locked(run)
        _refuse_unsignable(locked)
        record = signed_record(locked)
        digest = record_digest(record)
        if digest != seen_sha256:
            raise Conflict(
                _("The record changed while you read it. Nothing is signed: look at it again, then sign."),
                code="record_changed",
            )
        if is_being_written(run=locked):
            raise Conflict(
                _("The answer is being written from the decisions. Sign it once it is there."),
                code="answer_on_its_way",
            )
        signature = Signature.objects.create(
            run=locked,
            signer=actor,
            signer_name=f"{actor} <{actor.email}>"[:254],
            meaning=meaning,
            record_sha256=digest,
            record=record,
        )
        Run.objects.filter(pk=locked.pk).update(review_state=ReviewState.SIGNED)
        audit_record(
            actor=actor,
            action=Action.RUN_SIGNED,
            obj=locked,
            before={"review_state": locked.review_state},
            after={
                "review_state": ReviewState.SIGNED,
                "signature": signature.pk,
                "meaning": meaning,
                "record_sha256": digest,
            },
        )
    signature.refresh_from_db()
    return signature


def run_reopen(*, actor: User, run: Run, reason: str) -> Reopening:
    """Sets the standing signature aside, with a reason; the run is in review again. The signature stays on record."""
    if not has_any_permission(actor, run.collection, Permission.REVIEW, Permission.MANAGE):
        raise NotAllowed(_("Only reviewers and admins of this collection may reopen a signed run."))
    if not reason.strip():
        raise WorkbenchError(_("Say why the run is reopened."), code="reason_missing")
    with transaction.atomic():
        locked = _locked(run)
        signature = standing_signature(run=locked)
        if signature is None:
            raise Conflict(_("This run is not signed."), code="not_signed")
        reopening = Reopening.objects.create(signature=signature, reopened_by=actor, reason=reason.strip())
        Run.objects.filter(pk=locked.pk).update(review_state=ReviewState.IN_REVIEW, text_changed_at=None)
        audit_record(
            actor=actor,
            action=Action.RUN_REOPENED,
            obj=locked,
            before={"review_state": locked.review_state, "signature": signature.pk},
            after={"review_state": ReviewState.IN_REVIEW, "record_sha256": signature.record_sha256},
            reason=reopening.reason,
        )
        notify(users=[signature.signer], kind=NotificationKind.REOPENED, actor=actor, run=locked)
    return reopening


def standing_signature(*, run: Run) -> Signature | None:
    """The signature that holds now; None for an unsigned or reopened run."""
    return run.signatures.filter(reopening__isnull=True).select_related("signer").last()


def signature_holds(*, signature: Signature) -> bool:
    """Whether the stored record has the signed hash, and the run still gives that very record."""
    if record_digest(signature.record) != signature.record_sha256:
        return False
    return record_digest(signed_record(signature.run)) == signature.record_sha256


def items_to_decide(*, run: Run) -> list[QueueItem]:
    """What must be decided before the run can be signed."""
    items = QueueItem.objects.filter(run=run, is_required=True, state=ItemState.WAITING)
    return list(items.select_related("candidate__document").order_by("pk"))  # tells no rank


def is_being_written(*, run: Run) -> bool:
    """Whether a new version of the run's answer is on its way."""
    return Regeneration.objects.filter(run=run, state=RegenerationState.WAITING).exists()


def _locked(run: Run) -> Run:
    runs = Run.objects.select_for_update(of=("self",)).select_related("collection", "question__document")
    return runs.get(pk=run.pk)


def _refuse_unsignable(run: Run) -> None:
    if run.review_state == ReviewState.SIGNED:
        raise Conflict(_("This run is signed already."), code="signed")
    if run.status != RunStatus.DONE:
        raise Conflict(_("Only a finished run can be signed."), code="not_finished")
    left = len(items_to_decide(run=run))
    if left:
        raise Conflict(
            _("%(n)d verdicts must be decided before this run can be signed.") % {"n": left}, code="undecided"
        )


def _confirm_password(*, actor: User, run: Run, password: str) -> None:
    """Asks for the password again; counts failures in the trail, which every process sees."""
    failures = AuditEvent.objects.filter(
        action=_REFUSED, actor=actor, created_at__gt=Now() - FAILURE_WINDOW
    ).count()
    if failures >= MOST_FAILURES:
        raise NotAllowed(
            _("Too many wrong passwords. Wait ten minutes, then sign again."), code="too_many_attempts"
        )
    if actor.check_password(password):
        return
    with transaction.atomic():
        audit_record(actor=actor, action=_REFUSED, obj=run)
    raise NotAllowed(_("This is not your password. Nothing is signed."), code="password_wrong")
