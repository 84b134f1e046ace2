"""Repeats a question and compares: what is the same now, what differs, and what changed in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict
from workbench.runs.models import Candidate, Run
from workbench.runs.records import anchor_of, decider_fields, verdict_of
from workbench.runs.services import question_repeat
from workbench.runs.words import run_crumbs

from .candidates import candidates_of
from .results import candidate_role


def run_again(*, actor: User, run: Run) -> Run:
    """Asks the same question with the same scope and strategy in a new run, ignoring earlier answers. The first run is
    unchanged. Raises as :func:`question_repeat`, and :class:`Conflict` while the run has not ended."""
    if not run.is_ended:
        raise Conflict(_("This run has not ended yet."))
    outcome = question_repeat(actor=actor, run=run, use_cache=False)
    with transaction.atomic():
        audit_record(
            actor=actor,
            action=Action.RUN_REPEATED,
            obj=outcome.run,
            collection_id=run.collection_id,
            after={"run": outcome.run.pk, "repeats": run.pk},
        )
    return outcome.run


@dataclass(frozen=True, slots=True)
class ComparedVerdict:
    """A candidate in two runs. A side is None if the run has no such candidate."""

    candidate_id: str
    scope: Any
    document: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None

    @property
    def differs(self) -> bool:
        """Whether the role or text differs, or only one run has it."""
        if self.before is None or self.after is None:
            return True
        return any(self.before[key] != self.after[key] for key in ("role", "text_hash"))


def runs_compared(before: Run, after: Run) -> list[ComparedVerdict]:
    """Every candidate of either run, differences first, then in the order of the first run."""
    sides = [{row.candidate_id: row for row in candidates_of(run)} for run in (before, after)]
    ids = list(dict.fromkeys([*sides[0], *sides[1]]))
    rows = [
        ComparedVerdict(
            candidate_id=name,
            scope=anchor_of(row),
            document="" if before.question.document_id else str(row.document),
            before=_side(sides[0].get(name)),
            after=_side(sides[1].get(name)),
        )
        for name in ids
        for row in [sides[0].get(name) or sides[1][name]]
    ]
    return sorted(rows, key=lambda row: not row.differs)


def _side(candidate: Candidate | None) -> dict[str, Any] | None:
    if candidate is None:
        return None
    verdict = verdict_of(candidate)
    return {
        "role": verdict.role if verdict else None,
        "effective_role": candidate_role(candidate),
        "reason": verdict.reason if verdict else "",
        "probability": verdict.probability if verdict else None,
        "decided_by": decider_fields(verdict) if verdict else None,
        "text_hash": candidate.text_hash,
        "receipt_url": reverse("review:receipt", args=[candidate.pk]),
    }


def conditions_compared(before: Run, after: Run) -> list[dict[str, Any]]:
    """The conditions of the two runs side by side: strategy, settings, detectors, models and prompts."""
    pairs = [
        (_("Strategy"), before.strategy, after.strategy),
        (_("Detectors"), ", ".join(before.methods_run), ", ".join(after.methods_run)),
        *_settings_pairs(before.settings, after.settings),
        (_("Models"), *_of_calls(before, after, lambda call: call.model)),
        (
            _("Prompts"),
            *_of_calls(
                before,
                after,
                lambda call: f"{call.prompt_name} {call.prompt_version} {call.prompt_hash[:12]}",
            ),
        ),
        (_("Result"), _result(before), _result(after)),
    ]
    return [
        {"label": label, "before": first, "after": second, "differs": first != second}
        for label, first, second in pairs
    ]


def _settings_pairs(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Only settings that differ, because they are long."""
    names = sorted({*before, *after})
    return [
        (name, str(before.get(name)), str(after.get(name)))
        for name in names
        if before.get(name) != after.get(name)
    ]


def _of_calls(before: Run, after: Run, what: Any) -> tuple[str, str]:
    first, second = (
        ", ".join(sorted({what(call) for call in run.llm_calls.all()})) or "–" for run in (before, after)
    )
    return first, second


def _result(run: Run) -> str:
    if run.not_found:
        return _("not found")
    return _("found") if run.not_found is not None else str(run.get_status_display())


def against_page(*, before: Run, after: Run) -> dict[str, Any]:
    rows = runs_compared(before, after) if after.is_ended else []
    return {
        "before": before,
        "after": after,
        "rows": rows,
        "differing": sum(row.differs for row in rows),
        "conditions": conditions_compared(before, after),
        "poll_url": ""
        if after.is_ended
        else f"{reverse('review:against', args=[before.pk])}?with={after.pk}",
        "crumbs": run_crumbs(before, here=_("Run again")),
    }
