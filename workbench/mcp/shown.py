"""The API's records as shown to agents: short, with everything a citation needs."""

from __future__ import annotations

from typing import Any

_RUN = (
    *("id", "collection", "document", "question", "strategy", "status", "review_state", "needs_person"),
    *(
        "not_found",
        "not_found_reason",
        "confidence",
        "failure_reason",
        "methods_run",
        "methods_skipped",
        "created_at",
    ),
)
_DOCUMENT = (
    *("id", "collection", "name", "title", "status", "page_count", "language", "document_type", "issuer"),
    *("jurisdiction", "effective_date"),
)
_COLLECTION = ("slug", "name", "description", "default_strategy")


def collection(row: dict[str, Any]) -> dict[str, Any]:
    """A collection."""
    return _some(row, _COLLECTION)


def document(row: dict[str, Any]) -> dict[str, Any]:
    """A document."""
    return _some(row, _DOCUMENT)


def run(row: dict[str, Any]) -> dict[str, Any]:
    """The state of a run."""
    return _some(row, _RUN)


def finding(row: dict[str, Any], record: dict[str, Any], *, everything: bool = False) -> dict[str, Any]:
    """A finished run: its answer with citations, and its passages with role, reason and provenance. Discarded passages
    are counted, and only shown if ``everything`` is set."""
    provenances = {entry["candidate_id"]: entry for entry in record["audit"]["provenances"]}
    passages = [
        passage(candidate, provenances[candidate["candidate_id"]])
        for candidate in record["audit"]["candidates"]
    ]
    left_out = [found for found in passages if found["role"] == "discarded"]
    return run(row) | {
        "answer": _answer(record["answer"]),
        "passages": passages if everything else [found for found in passages if found not in left_out],
        "discarded": len(left_out),
    }


def passage(candidate: dict[str, Any], provenance: dict[str, Any]) -> dict[str, Any]:
    """A candidate: its effective role, and who decided it."""
    anchor = candidate["anchor"]
    return {
        "candidate_id": candidate["candidate_id"],
        "role": candidate["role"],
        "reason": candidate["reason"],
        "document": candidate["document_name"],
        "place": _place(anchor),
        "section": candidate["section_title"],
        "text": candidate["text"],
        "probability": candidate["probability"],
        "decided_by": candidate["decided_by"],
        "needs_person": candidate["needs_person"],
        "found_by": provenance["methods_that_found_it"],
        "machine_role": provenance["llm_role"],
        "injection_suspected": provenance["injection_suspected"],
    }


def _answer(body: dict[str, Any] | None) -> dict[str, Any] | None:
    if body is None:
        return None
    return {
        "kind": body.get("kind"),
        "statement": body.get("statement"),
        "sentences": [
            {
                "text": sentence["text"],
                "citations": [
                    {
                        "candidate_id": citation["candidate_id"],
                        "document": citation["document_name"],
                        "place": _place(citation),
                    }
                    for citation in sentence["citations"]
                ],
            }
            for sentence in body.get("sentences", ())
        ],
    }


def _place(scope: dict[str, Any]) -> str:
    """Such as ``p. 6, lines 12-14``."""
    first, last = scope["line_start"], scope["line_end"]
    if scope["page_start"] != scope["page_end"]:
        return f"p. {scope['page_start']}, line {first} to p. {scope['page_end']}, line {last}"
    return f"p. {scope['page_start']}, lines {first}-{last}"


def _some(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: row[name] for name in names if name in row}
