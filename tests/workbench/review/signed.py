"""A signed run without the way there, for tests that need nothing but a run that is signed."""

from __future__ import annotations

from django.db.models.functions import Now

from workbench.accounts.models import User
from workbench.review.models import ItemState, Signature, SignatureMeaning
from workbench.review.record import record_digest, signed_record
from workbench.runs.models import ReviewState, Run


def signed(run: Run, by: User | None = None) -> Signature:
    """Settles whatever waits, and signs the run as it stands; the standing signature where there is one."""
    standing = run.signatures.filter(reopening__isnull=True).last()
    if standing is not None:
        return standing
    signer = by or run.requested_by
    run.queue_items.filter(state=ItemState.WAITING).update(state=ItemState.DECIDED, decided_at=Now())
    record = signed_record(run)
    signature = Signature.objects.create(
        run=run,
        signer=signer,
        signer_name=str(signer),
        meaning=SignatureMeaning.REVIEWED,
        record_sha256=record_digest(record),
        record=record,
    )
    Run.objects.filter(pk=run.pk).update(review_state=ReviewState.SIGNED)
    return signature
