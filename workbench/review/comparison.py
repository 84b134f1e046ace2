"""One question with several strategies: starting, reading and deciding for all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, permissions_in
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.models import Collection, Document
from workbench.errors import Conflict, WorkbenchError
from workbench.infra.crumbs import crumbs
from workbench.runs.matches import marked
from workbench.runs.models import Candidate, Comparison, RoleChoice, Run, RunQuerySet, RunStatus, require_role
from workbench.runs.records import anchor_of, verdict_of
from workbench.runs.services import question_ask
from workbench.runs.words import erased_words

from . import cards
from .blindness import require_sight
from .candidates import candidates_of
from .models import ReasonCode, Review
from .results import candidate_role
from .selectors import current_review
from .services import candidate_approve, candidate_override

MOST_STRATEGIES = 6


def comparison_start(
    *,
    actor: User,
    collection: Collection,
    text: str,
    strategies: Sequence[str],
    document: Document | None = None,
) -> Comparison:
    """Asks one question with each strategy. Earlier runs are taken from the cache. Raises :class:`WorkbenchError` for
    fewer than two or too many strategies, otherwise as :func:`question_ask`."""
    names = list(dict.fromkeys(strategies))
    if not 2 <= len(names) <= MOST_STRATEGIES:
        raise WorkbenchError(
            _("Choose two to %(limit)d strategies to compare.") % {"limit": MOST_STRATEGIES},
            code="strategies_count",
        )
    with transaction.atomic():
        runs = [
            question_ask(actor=actor, collection=collection, document=document, text=text, strategy=name).run
            for name in names
        ]
        comparison = Comparison.objects.create(
            collection=collection, document=document, text=runs[0].question.text, requested_by=actor
        )
        comparison.runs.set(runs)
        audit_record(
            actor=actor,
            action=Action.COMPARISON_STARTED,
            obj=comparison,
            after={"strategies": names, "runs": [run.pk for run in runs]},
        )
    return comparison


def comparison_for(*, user: User, pk: int, permission: Permission = Permission.VIEW) -> Comparison:
    """The comparison, if the user may do this with it; else 404."""
    comparisons = Comparison.objects.visible_to(user, permission).select_related("collection", "document")
    return get_object_or_404(comparisons, pk=pk)


def comparison_decide(
    *,
    actor: User,
    comparison: Comparison,
    candidate_id: str,
    role: str,
    reason_code: str = "",
    comment: str = "",
) -> list[Review]:
    """Records one decision for the candidate in every run of the comparison: an approval if the machine gave the same
    role, otherwise an override. All or nothing. Raises as :mod:`workbench.review.services`, and :class:`Conflict` if no
    run has this candidate. Whatever it raises depends on the machine's roles, so :class:`DecideFirst` comes before."""
    require_role(role)
    runs_compared(comparison=comparison, user=actor)
    with transaction.atomic():
        candidates = list(
            Candidate.objects.filter(
                run__comparisons=comparison, run__status=RunStatus.DONE, candidate_id=candidate_id
            )
            .select_related("verdict")
            .order_by("run_id")  # two people at once lock the runs in the same order
        )
        if not candidates:
            raise Conflict(_("No finished run of this comparison has this candidate."))
        return [
            _decide_one(actor, candidate, role=role, reason_code=reason_code, comment=comment)
            for candidate in candidates
        ]


def _decide_one(actor: User, candidate: Candidate, *, role: str, reason_code: str, comment: str) -> Review:
    verdict = verdict_of(candidate)
    if verdict is not None and verdict.role == role:
        return candidate_approve(actor=actor, candidate=candidate, comment=comment)
    return candidate_override(
        actor=actor,
        candidate=candidate,
        role=role,
        reason_code=reason_code or ReasonCode.WRONG_ROLE,
        comment=comment,
    )


# --- the page ---------------------------------------------------------------------------------------


def runs_compared(*, comparison: Comparison, user: User) -> list[Run]:
    """The finished runs of the comparison: the others have no verdicts to compare. Raises :class:`DecideFirst` while a
    card of one of them is hidden from the person."""
    runs = list(_runs(comparison).filter(status=RunStatus.DONE))
    require_sight(user=user, runs=runs)
    return runs


def _runs(comparison: Comparison) -> RunQuerySet:
    runs: RunQuerySet = comparison.runs.select_related("question__document", "collection").order_by("pk")
    return runs


@dataclass(slots=True)
class ComparedCandidate:
    """A candidate with its role in each run, in the order of the runs; None if it was not found."""

    candidate: Candidate
    verdicts: list[dict[str, Any] | None] = field(default_factory=list)
    decided: str = ""

    @property
    def roles(self) -> set[str]:
        """The distinct roles given. Undecided counts as a separate role."""
        return {str(verdict["role"] or "") for verdict in self.verdicts if verdict}

    @property
    def disagreement(self) -> int:
        """How far the strategies disagree. Evidence against noise weighs more than one step of role."""
        kept = {role in (RoleChoice.PRIMARY, RoleChoice.SUPPORTING) for role in self.roles}
        missing = any(verdict is None for verdict in self.verdicts)
        return 10 * (len(kept) - 1) + 2 * (len(self.roles) - 1) + missing


def comparison_page(*, comparison: Comparison, user: User) -> dict[str, Any]:
    """The roles of each candidate side by side, disagreements first, with cost and time of each strategy. Of a run that
    has not finished, only its status. Raises as :func:`runs_compared`."""
    runs = runs_compared(comparison=comparison, user=user)
    unfinished = list(_runs(comparison).exclude(status=RunStatus.DONE))
    going = any(not run.is_ended for run in unfinished)
    rows = compared(runs)
    may_review = Permission.REVIEW in permissions_in(user, comparison.collection) and not going
    return {
        "comparison": comparison,
        "collection": comparison.collection,
        "runs": [_run(run) for run in runs],
        "unfinished": [_status(run) for run in unfinished],
        "rows": [_row(row) for row in rows],
        "disagreements": sum(1 for row in rows if len(row.roles) > 1),
        "may_review": may_review,
        "roles": RoleChoice.choices,
        "reason_choices": ReasonCode.choices,
        "poll_url": comparison.get_absolute_url() if going else "",
        "crumbs": crumbs(comparison.collection, here=_("Comparison %(pk)d") % {"pk": comparison.pk}),
    }


def compared(runs: Sequence[Run]) -> list[ComparedCandidate]:
    """Every candidate of any of these finished runs, largest disagreement first."""
    rows: dict[str, ComparedCandidate] = {}
    for place, run in enumerate(runs):
        for candidate in candidates_of(run):
            row = rows.setdefault(candidate.candidate_id, ComparedCandidate(candidate, [None] * len(runs)))
            verdict = verdict_of(candidate)
            row.verdicts[place] = {
                "role": verdict.role if verdict else None,
                "reason": verdict.reason if verdict else "",
                "probability": verdict.probability if verdict else None,
            }
            review = current_review(candidate)
            if review is not None and review.role:
                row.decided = str(candidate_role(candidate) or "")
    return sorted(rows.values(), key=lambda row: (-row.disagreement, row.candidate.position))


def _run(run: Run) -> dict[str, Any]:
    return {
        "strategy": run.strategy,
        "url": run.get_absolute_url(),
        "elapsed_s": run.elapsed_ms / 1000 if run.elapsed_ms is not None else None,
        "cost": run.cost,
        "llm_calls": run.llm_call_count,
        "not_found": run.not_found,
    }


def _status(run: Run) -> dict[str, Any]:
    return {
        "strategy": run.strategy,
        "url": run.get_absolute_url(),
        "status": run.get_status_display(),
        "failure": run.failure_reason,
    }


def _row(row: ComparedCandidate) -> dict[str, Any]:
    candidate = row.candidate
    text = getattr(candidate, "text", None)
    return {
        "candidate_id": candidate.candidate_id,
        "dom_id": cards.dom_id(candidate),
        "document": candidate.document,
        "scope": anchor_of(candidate),
        "breadcrumb": candidate.breadcrumb,
        "snippet": marked(
            text.snippet if text else erased_words(),
            candidate.matched_keywords,
            candidate.document.language,
        ),
        "evidence_url": reverse("questions:evidence", args=[candidate.pk]),
        "verdicts": row.verdicts,
        "differs": len(row.roles) > 1,
        "decided": row.decided,
    }
