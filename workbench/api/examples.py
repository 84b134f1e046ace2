"""Examples of the API description, by operation. A test validates each against its schema."""

from __future__ import annotations

from typing import Any

_ASK = {
    "collection": "contracts",
    "text": "How long must invoices be kept?",
    "strategy": "offline",
    "filters": {"document_types": ["policy"], "effective_from": "2026-01-01"},
}
_REVIEW = {
    "candidate": 4711,
    "action": "override",
    "role": "supporting",
    "reason_code": "wrong_role",
    "comment": "States the period, but for payment records only.",
}
_DESCRIPTION = {
    "document_type": "policy",
    "issuer": "Group Compliance",
    "jurisdiction": "ES",
    "effective_date": "2026-01-01",
    "tags": ["records", "retention"],
}
_ROUND = {"question_set": 12, "documents": [311, 312], "strategy": "offline", "due_on": "2026-12-31"}

#: What is sent, by the name of the operation.
REQUESTS: dict[str, Any] = {
    "collections_create": {"name": "Supplier contracts", "slug": "supplier-contracts"},
    "questions_create": _ASK,
    "reviews_create": _REVIEW,
    "documents_describe_create": _DESCRIPTION,
    "comments_create": {"run": 815, "body": "@maria-lopez please look at page 4."},
    "question_sets_create": {
        "collection": "contracts",
        "name": "Data protection",
        "questions": ["Who is the data controller?", "How long must invoices be kept?"],
    },
    "rounds_create": _ROUND,
    "vocabulary_create": {"collection": "contracts", "term": "access log", "variant": "access record"},
    "exports_create": {"collection": "contracts", "first": "2026-10-01", "last": "2026-10-31"},
    "candidates_choose_create": {"role": "primary", "comment": "Answers in one sentence."},
    "runs_not_found_create": {"decision": "confirm", "comment": "Read sections 2 and 3; neither says it."},
}


def add_examples(operation: dict[str, Any]) -> dict[str, Any]:
    """The operation with the example of its body, if any."""
    example = REQUESTS.get(operation["operationId"])
    content = operation.get("requestBody", {}).get("content", {})
    if example is not None and "application/json" in content:
        content["application/json"]["examples"] = {"Example": {"value": example}}
    return operation
