"""The tabs of the run page beside its verdicts, and the run in the audit format."""

from __future__ import annotations

import json
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from arbitration import bounded_json
from workbench.accounts.models import User
from workbench.direction import shown_in_json
from workbench.runs import selectors
from workbench.runs.models import Candidate, Run
from workbench.runs.places import lines_short
from workbench.runs.records import anchor_of, decider_fields, verdict_of
from workbench.runs.rubrics import criteria_forms, rubric_of
from workbench.runs.words import METHOD_LABELS
from workbench.trail.selectors import history_of

from .blindness import comments_shown
from .candidates import candidates_of
from .comments import handles_of
from .models import TextChange
from .nearest import searched_words
from .results import candidate_role, run_audit, run_result
from .selectors import text_changes_of

#: Tabs that tell the machine's roles in a way that no card can mask.
TELLING_TABS = frozenset({"provenance", "calls", "history", "json"})


TABS = ("verdicts", "provenance", "calls", "comments", "history", "json")


def tabs_of(run: Run, active: str) -> list[dict[str, Any]]:
    labels = {
        "verdicts": _("Verdicts"),
        "provenance": _("Provenance"),
        "calls": _("Model calls"),
        "comments": _("Comments"),
        "history": _("History"),
        "json": "JSON",
    }
    address = run.get_absolute_url()
    return [
        {
            "label": label,
            "url": address if name == "verdicts" else f"{address}?tab={name}",
            "active": name == active,
        }
        for name, label in labels.items()
    ]


def _provenance(run: Run, user: User) -> dict[str, Any]:
    reasons = dict((run.parsed_question or {}).get("method_reasons", {})) | dict(run.skipped_reasons)
    ran = list(run.methods_run)
    methods = [
        {
            "label": METHOD_LABELS.get(name, name),
            "ran": name in ran,
            "reason": reasons.get(name, ""),
        }
        for name in [*ran, *run.methods_skipped]
    ]
    rows = candidates_of(run)
    rubric = rubric_of(run)
    return {
        "rubric": rubric,
        "rubric_by_person": bool(run.rubric_edits),
        "criteria": criteria_forms(rubric) if rubric else None,
        "methods": methods,
        "searched": list(searched_words(run).items()),
        "reading": _reading(run),
        "provenance": [_provenance_row(row, ran) for row in rows],
    }


def _reading(run: Run) -> dict[str, Any]:
    """How the question was read, with its keywords as a person may edit them for another run."""
    parsed = run.parsed_question or {}
    groups: dict[str, list[str]] = {"primary": [], "secondary": []}
    for keyword in parsed.get("keywords", []):
        groups[keyword["group"]].append(keyword["term"])
    return {
        "corrected": parsed.get("corrected"),
        "clarification": parsed.get("clarification"),
        "sub_questions": parsed.get("sub_questions", []),
        "primary": "\n".join(groups["primary"]),
        "secondary": "\n".join(groups["secondary"]),
    }


def _provenance_row(row: Candidate, methods: list[str]) -> dict[str, Any]:
    verdict = verdict_of(row)
    return {
        "place": place_in_words(row, names_document=True),
        "url": reverse("questions:evidence", args=[row.pk]),
        "receipt_url": reverse("review:receipt", args=[row.pk]),
        "role": candidate_role(row),
        "rrf_rank": row.rrf_rank,
        "rrf_score": row.rrf_score,
        "cells": [{"rank": row.ranks.get(name), "score": row.scores.get(name)} for name in methods],
        "decided_by": decider_fields(verdict) if verdict else None,
        "terms": list(verdict.terms.items()) if verdict else [],
    }


def _calls(run: Run, user: User) -> dict[str, Any]:
    calls = list(run.llm_calls.select_related("body").order_by("id")[:200])
    for call in calls:
        body = getattr(call, "body", None)
        call.request_text = _indented(body.request) if body else ""
        call.response_text = _indented(body.response) if body else ""
    return {"calls": calls}


def _indented(value: Any) -> str:
    if isinstance(value, str):
        try:
            value = bounded_json.loads(value)
        except ValueError:
            return str(value)
    return shown_in_json(json.dumps(value, ensure_ascii=False, indent=2))


def _comments(run: Run, user: User) -> dict[str, Any]:
    handles = handles_of(collection=run.collection)
    comments = comments_shown(user=user).filter(run=run).select_related("author", "candidate")
    return {
        "comments": list(comments.order_by("pk")[:500]),
        "handles": [(name, person) for name, people in handles.items() for person in people],
        "passages": [
            (row.candidate_id, place_in_words(row, names_document=run.question.document_id is None))
            for row in run.candidates.select_related("document").order_by(*selectors.PLACE)
        ],
    }


def place_in_words(row: Candidate | None, *, names_document: bool) -> str:
    """The short location of a passage, with its document if there are several. Empty for an erased one."""
    if row is None:
        return ""
    place = lines_short(anchor_of(row))
    return f"{row.document}, {place}" if names_document else place


def _history(run: Run, user: User) -> dict[str, Any]:
    return {"events": history_of(run, *candidates_of(run))}


def _json(run: Run, user: User) -> dict[str, Any]:
    return {"json_text": shown_in_json(json.dumps(record(run), ensure_ascii=False, indent=2))}


TAB_CONTEXTS = {
    "provenance": _provenance,
    "calls": _calls,
    "comments": _comments,
    "history": _history,
    "json": _json,
}


def record(run: Run) -> dict[str, Any]:
    """The run in the audit format, as plain JSON."""
    rows = candidates_of(run)
    return {
        "run_id": run.pk,
        "strategy": run.strategy,
        "result": run_result(run, rows).model_dump(mode="json"),
        "audit": run_audit(run, rows).model_dump(mode="json"),
        "text_changes": [_text_change(change) for change in text_changes_of(run=run)],
    }


def _text_change(change: TextChange) -> dict[str, Any]:
    """A passage that a new version changed since the run was signed; without a candidate the whole document."""
    return {
        "candidate_id": change.candidate.candidate_id if change.candidate else None,
        "document_sha256": change.document.sha256,
        "version": change.document.version_number,
        "state": change.state,
        "at": change.created_at.isoformat(),
    }
