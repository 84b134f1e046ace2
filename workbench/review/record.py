"""What a signature covers: the audited result and the decisions of a run, as one canonical JSON value.

The record contains IDs, figures, roles and hashes. Every text (of documents, models and people) is given by its
SHA-256, so that the record can be kept and exported when the text must go.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from workbench.runs.models import Candidate, Run

from .candidates import candidates_of
from .models import Review
from .results import run_audit

#: Fields of the audited result that hold text.
_TEXTS = frozenset(
    {
        "snippet", "text", "reason", "llm_reason", "section_title", "structural_context", "matched_keywords",
        "why_per_method", "quotes", "counter_argument", "parsed_question", "conflicts", "outcome_notes",
        "skipped_reasons", "artefacts", "score_terms", "injection_words",
    }
)  # fmt: skip
#: Fields that are younger than the first signatures: absent where empty, so that older records keep their digest.
_LATER = frozenset({"injection_words"})
#: Names that may change without the record changing; ids stand beside them.
_NAMES = frozenset({"document_name"})


def signed_record(run: Run, candidates: list[Candidate] | None = None) -> dict[str, Any]:
    """The current record of a run. Equal states give equal records."""
    rows = candidates_of(run) if candidates is None else candidates
    audit = run_audit(run, rows).model_dump(mode="json")
    answers = run.answers.order_by("version").values_list("version", "body", "evidence_hash", "is_stale")
    return {
        "version": 1,
        "run": run.pk,
        "question": text_hash(run.question.text),
        "strategy": run.strategy,
        "documents": sorted({row.document.sha256 for row in rows}),
        "not_found": run.not_found,
        "audit": _without_text(audit),
        "decisions": [_decision(review) for review in run.reviews.select_related("candidate").order_by("id")],
        "answers": [
            {"version": version, "body": text_hash(body), "evidence_hash": evidence, "is_stale": stale}
            for version, body, evidence, stale in answers
        ],
    }


def record_digest(record: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON (sorted keys, no blanks, UTF-8), in hexadecimal."""
    return hashlib.sha256(canonical(record).encode()).hexdigest()


def canonical(value: Any) -> str:
    """One text for equal JSON values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def text_hash(value: Any) -> str | None:
    """The SHA-256 in place of a text, or of a value that contains text; None for nothing."""
    if value in (None, "", [], {}):
        return None
    text = value if isinstance(value, str) else canonical(value)
    return hashlib.sha256(text.encode()).hexdigest()


def _decision(review: Review) -> dict[str, Any]:
    return {
        "review": review.pk,
        "candidate_id": review.candidate.candidate_id if review.candidate else None,
        "reviewer": review.reviewer_id,
        "action": review.action,
        "role": review.role,
        "machine_role": review.machine_role,
        "reason_code": review.reason_code,
        "comment": text_hash(review.comment),
        "blind": review.blind,
        "supersedes": review.supersedes_id,
        "at": review.created_at.isoformat(),
    }


def _without_text(value: Any, name: str = "") -> Any:
    if name in _TEXTS:
        return text_hash(value)
    if isinstance(value, dict):
        if value.get("kind") == "person":  # the decisions say who, by number
            return {"kind": "person"}
        return {
            key: _without_text(item, key)
            for key, item in value.items()
            if key not in _NAMES and not (item is None and key in _LATER)
        }
    if isinstance(value, list):
        return [_without_text(item) for item in value]
    return value
