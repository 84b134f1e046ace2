"""What every operation of the API description has in common: it may refuse, and says so as a problem; it takes JSON, or
a form where files are sent."""

from __future__ import annotations

from typing import Any

PROBLEM = {
    "type": "object",
    "description": "Why a request was refused or failed (RFC 9457).",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable, for programs."},
        "detail": {"type": "string", "description": "For people: what to do."},
        "request_id": {"type": "string", "nullable": True},
        "errors": {
            "type": "object",
            "additionalProperties": {},
            "description": "Per field, where fields are wrong.",
        },
    },
    "required": ["type", "title", "status", "code", "detail", "request_id"],
}
REFUSAL = {
    "description": "Refused, or failed.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def describe_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Adds the shape of problems, as the answer of every operation to whatever has no shape of its own."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"].setdefault("default", REFUSAL)
    return result


def describe_one_body(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Leaves JSON as the only form of a body that may come either way, so that generated clients send it once."""
    for operations in result["paths"].values():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content:
                content.pop("multipart/form-data", None)
    return result
