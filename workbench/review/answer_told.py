"""A run's answer as a program reads it: sentences with their citations, whether it can change yet, earlier versions."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from workbench.runs.models import Answer, ReviewState, Run, RunStatus
from workbench.runs.places import lines_range

from .candidates import candidates_of
from .results import candidate_role, is_not_found
from .run_page import statement_of
from .signing import items_to_decide


class AnswerState(StrEnum):
    """What may still happen to an answer."""

    NONE = "none"  # the run is under way, failed or was stopped
    PROVISIONAL = "provisional"  # people decide on passages yet
    FINAL = "final"
    SIGNED = "signed"


def answer_told(*, run: Run) -> dict[str, Any]:
    """The newest answer with its citations, and every version in short. Asks the state of the queue, so whoever may not
    see the roles yet may not see this (``blindness.require_sight``)."""
    versions = list(run.answers.all())
    newest = versions[-1] if versions else None
    body = newest.body if newest else {}
    keys: dict[str, int] = dict(run.candidates.values_list("candidate_id", "pk"))
    roles = [candidate_role(row) for row in candidates_of(run)]
    waiting = [item.pk for item in items_to_decide(run=run)]
    return {
        "run": run.pk,
        "question": run.question.text,
        "state": _state(run, newest, waiting),
        "waiting": waiting,
        "not_found": is_not_found(run, roles=roles),
        "kind": body.get("kind", ""),
        "language": body.get("language", ""),
        "statement": statement_of(body),
        "sentences": _sentences(keys, body),
        "differences": _differences(keys, body),
        "version": newest.version if newest else None,
        "is_stale": bool(newest and newest.is_stale),
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


def _state(run: Run, answer: Answer | None, waiting: list[int]) -> AnswerState:
    if answer is None or run.status != RunStatus.DONE:
        return AnswerState.NONE
    if run.review_state == ReviewState.SIGNED:
        return AnswerState.SIGNED
    return AnswerState.PROVISIONAL if waiting or answer.is_stale else AnswerState.FINAL


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
