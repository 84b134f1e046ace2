"""A run's answer in the API: sentences with their citations, its state, and earlier versions."""

from __future__ import annotations

from typing import Any

from workbench.runs.models import Candidate, Run
from workbench.runs.places import lines_range
from workbench.runs.records import anchor_of

from .answer_standing import Standing, standing_of
from .models import QueueItem
from .nearest import near_terms, near_text, nearest_of
from .run_answer import statement_of
from .signing import is_being_written


def answer_told(*, run: Run) -> dict[str, Any]:
    """The newest answer with its citations, and a summary of every version. It reveals the state of the queue, so it is
    refused to people who may not see the roles yet (``blindness.require_sight``)."""
    versions = list(run.answers.all())
    newest = versions[-1] if versions else None
    body = newest.body if newest else {}
    keys: dict[str, int] = dict(run.candidates.values_list("candidate_id", "pk"))
    standing = standing_of(run=run, answer=newest)
    return {
        "run": run.pk,
        "question": run.question.text,
        "state": standing.state,
        "waiting": [item.pk for item in standing.waiting],
        "waiting_for": [_waiting(item, standing) for item in standing.waiting],
        "not_found": standing.not_found,
        "not_found_confirmed_by": standing.confirmed_by or None,
        "nearest": [_near(row, run) for row in nearest_of(run)] if standing.not_found else [],
        "kind": body.get("kind", ""),
        "language": body.get("language", ""),
        "statement": statement_of(body),
        "sentences": _sentences(keys, body),
        "differences": _differences(keys, body),
        "version": newest.version if newest else None,
        "is_stale": bool(newest and newest.is_stale),
        "is_being_written": is_being_written(run=run),
        "created_at": newest.created_at if newest else None,
        "versions": [
            {
                "version": answer.version,
                "created_at": answer.created_at,
                "is_stale": answer.is_stale,
                "evidence_hash": answer.evidence_hash,
                "statement": statement_of(answer.body),
                "sentences": _sentences(keys, answer.body),
            }
            for answer in versions
        ],
    }


def _waiting(item: QueueItem, standing: Standing) -> dict[str, Any]:
    """An open card, or the not-found result."""
    candidate = item.candidate
    return {
        "item": item.pk,
        "candidate": item.candidate_id,
        "document_name": candidate.document.name if candidate else "",
        "place": lines_range(anchor_of(candidate)) if candidate else "",
        "cannot_tell": standing.cannot_tell.get(item.candidate_id, ""),
    }


def _near(row: Candidate, run: Run) -> dict[str, Any]:
    holds, lacks = near_terms(row, run)
    return {
        "candidate": row.pk,
        "document_name": row.document.name,
        "place": lines_range(anchor_of(row)),
        "text": near_text(row),
        "reason": row.verdict.reason,
        "holds": holds,
        "lacks": lacks,
    }


def _sentences(keys: dict[str, int], body: dict[str, Any]) -> list[dict[str, Any]]:
    return [_sentence(keys, sentence) for sentence in body.get("sentences", [])]


def _differences(keys: dict[str, int], body: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {name: one[name] for name in ("kind", "headline", "statement")}
        | {name: _sentence(keys, one[name]) if one[name] else None for name in ("in_force", "replaced")}
        for one in body.get("differences", [])
    ]


def _sentence(keys: dict[str, int], sentence: dict[str, Any]) -> dict[str, Any]:
    return {
        "text": sentence["text"],
        "citations": [
            {
                "candidate": keys.get(cite["candidate_id"]),
                "candidate_id": cite["candidate_id"],
                "document": int(cite["document_id"].removeprefix("d")),
                "document_name": cite["document_name"],
                "place": lines_range(cite),
                **{name: cite[name] for name in ("page_start", "line_start", "page_end", "line_end")},
            }
            for cite in sentence["citations"]
        ],
    }
