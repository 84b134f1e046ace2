"""Evidence that a person adds because the detectors missed it."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max, Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from arbitration.contracts import CandidateScope, candidate_id
from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.ingest import text_hash
from workbench.documents.models import Document, DocumentStatus, Line, Section
from workbench.errors import Conflict, WorkbenchError
from workbench.runs.models import Candidate, CandidateText, RoleChoice, Run, require_role
from workbench.runs.services import documents_asked

from .blindness import require_sight
from .events import decided
from .models import ItemState, QueueItem, ReasonCode, Review, ReviewAction
from .services import answers_mark, not_found_answered, run_for_decision

METHOD = "human"
MOST_LINES = 200
#: Lines of context on each side of the selected ones.
AROUND = 3
_SNIPPET_LINES = 5
Position = tuple[int, int]  # page, line


def evidence_add(
    *, actor: User, run: Run, document: Document, first: Position, last: Position, role: str, reason: str
) -> Candidate:
    """Adds the lines from ``first`` to ``last`` (page, line; inclusive) as a candidate of the run with this role.

    It is labelled, counted as a retrieval miss, and marks the answer stale. In a run that found nothing, it also
    refutes the not-found result, and so tells of it: raises :class:`DecideFirst` while the result is hidden from the
    person. Raises as :func:`candidate_approve`; :class:`Conflict` if the run already has exactly these lines;
    :class:`WorkbenchError` for missing lines, too many lines, an unknown role or no reason.
    """
    require_role(role)
    if not reason.strip():
        raise WorkbenchError(_("Say what these lines show."), code="reason_missing")
    require_sight(user=actor, runs=[run])
    with transaction.atomic():
        locked = run_for_decision(actor=actor, run_id=run.pk)
        _check_document(locked, document)
        lines = _lines(document, first, last)
        candidate = _candidate(actor=actor, run=locked, document=document, lines=lines, reason=reason.strip())
        QueueItem.objects.create(
            collection_id=locked.collection_id,
            run=locked,
            candidate=candidate,
            state=ItemState.DECIDED,
            is_required=True,
            why=["added"],
            decided_at=Now(),
        )
        review = Review.objects.create(
            run=locked,
            candidate=candidate,
            reviewer=actor,
            action=ReviewAction.OVERRIDE,
            role=role,
            reason_code=ReasonCode.MISSED_CONTEXT,
            comment=reason.strip(),
        )
        answers_mark(candidate, before=None, after=role)
        _record(actor=actor, candidate=candidate, review=review)
        if locked.not_found:
            not_found_answered(actor=actor, run=locked, candidate=candidate)
        decided.publish(review)
    return candidate


def _check_document(run: Run, document: Document) -> None:
    is_in_scope = document.collection_id == run.collection_id and run.question.document_id in {
        None,
        document.pk,
    }
    matching = documents_asked(run)
    is_in_scope = is_in_scope and (matching is None or document.pk in matching)
    if not is_in_scope or document.status != DocumentStatus.READY:
        raise WorkbenchError(
            _("This document is not among those the question was asked of."), code="elsewhere"
        )


def _lines(document: Document, first: Position, last: Position) -> list[Line]:
    """The selected lines in reading order, without headers and footers."""
    if first > last:
        first, last = last, first
    rows = Line.objects.filter(document=document, is_furniture=False)
    ends = [rows.filter(page_num=page, line_num=line).exists() for page, line in (first, last)]
    if not all(ends):
        raise WorkbenchError(
            _("There is no such line on this page. Choose lines by their numbers."), code="no_line"
        )
    after = Q(page_num__gt=first[0]) | Q(page_num=first[0], line_num__gte=first[1])
    before = Q(page_num__lt=last[0]) | Q(page_num=last[0], line_num__lte=last[1])
    lines = list(rows.filter(after, before).order_by("page_num", "line_num")[: MOST_LINES + 1])
    if len(lines) > MOST_LINES:
        raise WorkbenchError(
            _("These are more than %(limit)d lines. Choose the ones that carry the answer.")
            % {"limit": MOST_LINES},
            code="too_many_lines",
        )
    return lines


def _candidate(*, actor: User, run: Run, document: Document, lines: list[Line], reason: str) -> Candidate:
    first, last = lines[0], lines[-1]
    scope = CandidateScope(
        page_start=first.page_num, line_start=first.line_num, page_end=last.page_num, line_end=last.line_num
    )
    name = candidate_id(scope, None if run.question.document_id else document.public_id)
    if Candidate.objects.filter(run=run, candidate_id=name).exists():
        raise Conflict(_("This passage is a candidate already: decide it on its card."), code="known")
    context = _around(document, first, last)
    section = Section.objects.filter(document=document, section_id=first.section_id).first()
    anchor = "\n".join(line.text for line in lines)
    place = Candidate.objects.filter(run=run).aggregate(last=Max("position"))["last"]
    candidate = Candidate.objects.create(
        run=run,
        document=document,
        candidate_id=name,
        position=0 if place is None else place + 1,
        anchor_page_start=scope.page_start,
        anchor_line_start=scope.line_start,
        anchor_page_end=scope.page_end,
        anchor_line_end=scope.line_end,
        context_page_start=context[0].page_num,
        context_line_start=context[0].line_num,
        context_page_end=context[-1].page_num,
        context_line_end=context[-1].line_num,
        section_id=first.section_id,
        section_title=section.title if section else "",
        breadcrumb=section.breadcrumb if section else "",
        methods=[METHOD],
        ranks={METHOD: 1},
        scores={},
        whys={METHOD: reason},
        text_hash=text_hash(anchor),
        added_by=actor,
    )
    CandidateText.objects.create(
        candidate=candidate,
        snippet="\n".join(line.text for line in lines[:_SNIPPET_LINES]),
        anchor=anchor,
        context="\n".join(line.text for line in context),
    )
    return candidate


def _around(document: Document, first: Line, last: Line) -> list[Line]:
    """The lines with a few before and after, in reading order."""
    rows = Line.objects.filter(document=document, is_furniture=False)
    earlier = rows.filter(
        Q(page_num__lt=first.page_num) | Q(page_num=first.page_num, line_num__lt=first.line_num)
    )
    later = rows.filter(Q(page_num__gt=last.page_num) | Q(page_num=last.page_num, line_num__gt=last.line_num))
    inside = rows.filter(
        Q(page_num__gt=first.page_num) | Q(page_num=first.page_num, line_num__gte=first.line_num),
        Q(page_num__lt=last.page_num) | Q(page_num=last.page_num, line_num__lte=last.line_num),
    )
    order = ("page_num", "line_num")
    return [
        *reversed(earlier.order_by("-page_num", "-line_num")[:AROUND]),
        *inside.order_by(*order),
        *later.order_by(*order)[:AROUND],
    ]


def _record(*, actor: User, candidate: Candidate, review: Review) -> None:
    audit_record(
        actor=actor,
        action=Action.EVIDENCE_ADDED,
        obj=candidate,
        collection_id=candidate.run.collection_id,
        before=None,
        after={
            "run": candidate.run_id,
            "candidate_id": candidate.candidate_id,
            "document": candidate.document_id,
            "text_hash": candidate.text_hash,
            "role": review.role,
            "review": review.pk,
            "retrieval_miss": review.role in (RoleChoice.PRIMARY, RoleChoice.SUPPORTING),
        },
        reason=review.comment[:300],
    )
