"""Carries decisions over from one version of a document to the next (system.md, "Life of a document").

Each decided anchor is searched in the new version by its text. Unchanged text is carried over to its new location. If
it changed or is gone, its candidate returns to the queue. Each anchor is one transaction and is recorded once, so the
work can stop anywhere, be restarted, or run in two workers at once. Signed runs are marked separately
(``text_changes``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import Prefetch, Q
from django.db.models.functions import Now

from arbitration.versions import AnchorMatch, VersionText, text_key
from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_work
from workbench.documents.models import Document, OfferState, VersionOffer
from workbench.runs.models import Candidate
from workbench.runs.records import span_of

from .models import CarriedAnchor, CarriedState, Review
from .selectors import REVIEWS, current_review
from .text_changes import signed_runs_mark
from .version_text import REOPENED_WHY, STATES, Span, body_lines, item_reopen

#: An accepted version whose message should have arrived long ago.
LOST_AFTER = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class DecidedAnchor:
    """A decision that counts, and the location of its text in the older version."""

    review: Review
    candidate: Candidate
    span: Span


def anchors_carry_over(*, document_id: int) -> int:
    """Carries every decision on the previous version over to this document. Returns the number of anchors handled now.
    Does nothing if the version was not accepted or everything was carried over already."""
    offer = (
        VersionOffer.objects.filter(
            document_id=document_id, state=OfferState.ACCEPTED, carried_at__isnull=True
        )
        .select_related("document__version_of", "decided_by")
        .first()
    )
    if offer is None or offer.document.version_of is None:
        return 0
    done = _carry(older=offer.document.version_of, newer=offer.document)
    signed_runs_mark(newer=offer.document, accepted_by=offer.decided_by or User.objects.system())
    VersionOffer.objects.filter(pk=offer.pk, carried_at__isnull=True).update(carried_at=Now())
    return done


def carry_overs_to_wake() -> list[int]:
    """Keys of accepted documents whose decisions have not been carried over for a while."""
    offers = VersionOffer.objects.filter(
        state=OfferState.ACCEPTED, carried_at__isnull=True, decided_at__lt=Now() - LOST_AFTER
    )
    return list(offers.order_by("pk").values_list("document_id", flat=True)[:100])


def _carry(*, older: Document, newer: Document) -> int:
    old_lines = body_lines(older)
    text, size = VersionText(body_lines(newer)), max(1, len(old_lines))
    matches: dict[Span, tuple[str, AnchorMatch]] = {}
    done = 0
    for anchor in _decided(older=older, newer=newer):
        if anchor.span not in matches:
            first, last = anchor.span
            numbers = [n for n, line in enumerate(old_lines) if first <= line.position <= last]
            passage = [old_lines[n] for n in numbers]
            match = text.match(
                [line.text for line in passage],
                heading=passage[0].heading if passage else "",
                place=numbers[0] / size if numbers else 0.0,
            )
            matches[anchor.span] = text_key([line.text for line in passage]), match
        done += _take(anchor, newer=newer, key=matches[anchor.span][0], match=matches[anchor.span][1])
    return done


def _decided(*, older: Document, newer: Document) -> Iterator[DecidedAnchor]:
    """Decisions that count: on candidates of the older version, and those carried over to it."""
    carried = Prefetch(
        "carried_anchors",
        queryset=CarriedAnchor.objects.filter(document=older, state=CarriedState.CARRIED),
        to_attr="taken_over",
    )
    here = Q(document=older) | Q(carried_anchors__document=older, carried_anchors__state=CarriedState.CARRIED)
    candidates = (
        Candidate.objects.filter(here, reviews__role__isnull=False)
        .exclude(pk__in=CarriedAnchor.objects.filter(document=newer).values("candidate"))
        .select_related("run")
        .prefetch_related(REVIEWS, carried)
        .order_by("pk")
        .distinct()
    )
    for candidate in candidates:
        review = current_review(candidate)
        if review is not None and review.role:
            yield DecidedAnchor(review, candidate, _span(candidate))


def _span(candidate: Candidate) -> Span:
    """The location of the anchor in the older version: its own, or where it was carried over to."""
    taken = next(iter(candidate.taken_over), None)  # type: ignore[attr-defined]
    if taken is not None:
        return (taken.page_start, taken.line_start), (taken.page_end, taken.line_end)
    return span_of(candidate)


def _take(anchor: DecidedAnchor, *, newer: Document, key: str, match: AnchorMatch) -> int:
    """Records an anchor, and reopens its candidate if the text is not the same. Returns 1 if it was new."""
    state = STATES[match.state]
    with transaction.atomic():
        row, is_new = CarriedAnchor.objects.get_or_create(
            candidate=anchor.candidate,
            document=newer,
            defaults={
                "review": anchor.review,
                "state": state,
                "similarity": match.similarity,
                "text_hash": key,
                "matched_hash": text_key([line.text for line in match.lines]) if match.lines else "",
                **_place(match),
            },
        )
        if not is_new:
            return 0
        if state in REOPENED_WHY:
            item_reopen(run=anchor.candidate.run, candidate=anchor.candidate, why=REOPENED_WHY[state])
        audit_work(
            action=Action.ANCHOR_CARRIED if state == CarriedState.CARRIED else Action.ANCHOR_REOPENED,
            obj=anchor.candidate,
            collection_id=newer.collection_id,
            after={
                "document": newer.pk,
                "state": state,
                "review": anchor.review.pk,
                "carried_anchor": row.pk,
                "text_hash": key,
                "matched_hash": row.matched_hash,
            },
        )
    return 1


def _place(match: AnchorMatch) -> dict[str, int]:
    if not match.lines:
        return {}
    first, last = match.lines[0], match.lines[-1]
    return {
        "page_start": first.page_num,
        "line_start": first.line_num,
        "page_end": last.page_num,
        "line_end": last.line_num,
    }
