"""A candidate on its page of the document: the exact lines marked on the image, and the same text as text."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from arbitration.contracts import CandidateScope
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.documents.selectors import PageView, page_view
from workbench.documents.viewer import finding_of, page_asked, viewer
from workbench.runs import selectors
from workbench.runs.models import Candidate
from workbench.runs.places import lines_range
from workbench.runs.records import anchor_of, context_of, verdict_of
from workbench.runs.words import erased_words, run_crumbs

from . import cards
from .blindness import hides, is_withheld
from .outline import outlines_of
from .results import SURVIVING, candidate_role
from .selectors import standing_review


def evidence_page(*, candidate: Candidate, query: QueryDict, user: User) -> dict[str, Any]:
    """A candidate on a page of its document: the exact lines boxed on the image, and the same text as text."""
    verdict, run = verdict_of(candidate), candidate.run
    hidden = hides(item=cards.item_of(candidate), run=run, user=user)
    withheld = is_withheld(user=user, run=run)
    finding = finding_of(document=candidate.document, query=query)
    page_num = page_asked(
        document=candidate.document, query=query, finding=finding, otherwise=candidate.anchor_page_start
    )
    return {
        "document": candidate.document,
        "document_page_url": f"{candidate.document.get_absolute_url()}?page={page_num}",
        "role": "" if hidden else candidate_role(candidate) or "",
        "reason": verdict.reason if verdict and not hidden else "",
        "decision": None if hidden else cards.decision_of(standing_review(candidate.reviews.all())),
        **evidence_panel(
            candidate=candidate,
            user=user,
            page_num=page_num,
            finding=finding,
            evidence_pages=_evidence_pages(candidate, user, is_withheld=withheld),
            add_url="" if withheld else _add_url(candidate, user),
        ),
        **_ways_on(candidate, is_withheld=withheld),
    }


def _evidence_pages(candidate: Candidate, user: User, *, is_withheld: bool) -> set[int]:
    """The pages of the document with evidence of the run; only those of this candidate while roles are hidden."""
    pages = set(range(candidate.anchor_page_start, candidate.anchor_page_end + 1))
    if is_withheld:
        return pages
    places = dict(
        candidate.run.candidates.filter(document=candidate.document_id).values_list("pk", "anchor_page_start")
    )
    surviving = (row.pk for row in outlines_of(candidate.run, viewer=user) if row.role in SURVIVING)
    return pages | {places[pk] for pk in surviving if pk in places}


def _add_url(candidate: Candidate, user: User) -> str:
    """The address for adding lines of this document as evidence of the run, for people who can."""
    run = candidate.run
    if not (has_permission(user, run.collection, Permission.REVIEW) and cards.is_reviewable(run)):
        return ""
    return reverse("review:lines", args=[run.pk, candidate.document_id])


def evidence_panel(
    *, candidate: Candidate, user: User, page_num: int | None = None, **more: Any
) -> dict[str, Any]:
    """The panel beside a card: a page of the document with the candidate's lines, by default the first. ``more`` are
    arguments of :func:`workbench.documents.viewer.viewer`."""
    anchor, context = anchor_of(candidate), context_of(candidate)
    page_num = page_num or anchor.page_start
    view = page_view(
        document=candidate.document,
        page_num=page_num,
        anchor=((anchor.page_start, anchor.line_start), (anchor.page_end, anchor.line_end)),
        context=((context.page_start, context.line_start), (context.page_end, context.line_end)),
    )
    address = reverse("questions:evidence", args=[candidate.pk])
    return {
        "candidate": candidate,
        "anchor": anchor,
        "breadcrumb": [part for part in candidate.breadcrumb.split(" › ") if part],
        "evidence_url": address,
        "span": _span_pages(anchor, shown=page_num, address=address),
        "viewer": viewer(view, user=user, address=address, box_note=_box_note(view, anchor), **more),
    }


def _span_pages(anchor: CandidateScope, *, shown: int, address: str) -> list[dict[str, Any]]:
    """The pages of the evidence, if more than one."""
    pages = range(anchor.page_start, anchor.page_end + 1)
    return [
        {"number": number, "url": f"{address}?page={number}", "active": number == shown}
        for number in pages
        if len(pages) > 1
    ]


def _box_note(view: PageView, anchor: CandidateScope) -> str:
    if view.document.erased_at:
        return erased_words()
    marked = [line for line in view.lines if line.is_marked]
    if not marked:
        return (
            ""
            if view.page_num in range(anchor.page_start, anchor.page_end + 1)
            else _("The evidence is on another page.")
        )
    if view.has_image and not all(line.box for line in marked):
        return _("Some of these lines could not be placed on the image; read them in the text.")
    return ""


def _ways_on(candidate: Candidate, *, is_withheld: bool) -> dict[str, Any]:
    run = candidate.run
    before, after, place, count = selectors.neighbours(candidate=candidate, by_place=is_withheld)
    return {
        "hits": {
            "index": place,
            "count": count,
            "previous_url": reverse("questions:evidence", args=[before]) if before else "",
            "next_url": reverse("questions:evidence", args=[after]) if after else "",
        },
        "back_url": candidate.get_absolute_url(),
        "crumbs": run_crumbs(run, here=lines_range(anchor_of(candidate)).capitalize()),
    }
