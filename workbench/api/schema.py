"""The common parts of the API description: every operation may return a problem, and takes JSON, or a form for
files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter

from .conditions import is_versioned, reading_action
from .examples import add_examples
from .titles import title_of

PROBLEM = {
    "type": "object",
    "description": "Problem details (RFC 9457) of a refused or failed request.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable machine-readable code."},
        "detail": {"type": "string", "description": "Human-readable explanation."},
        "request_id": {"type": "string", "nullable": True},
        "errors": {
            "type": "object",
            "additionalProperties": {},
            "description": "Errors per field, for invalid fields.",
        },
    },
    "required": ["type", "title", "status", "code", "detail", "request_id"],
}
REFUSAL = {
    "description": "The request was refused or failed.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def describe_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Adds the schema of problems, and makes it the default response of every operation."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"].setdefault("default", REFUSAL)
    return result


def describe_one_body(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Keeps JSON as the only form of a body that may come either way, so that generated clients send it once."""
    for operations in result["paths"].values():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content:
                content.pop("multipart/form-data", None)
    return result


IDEMPOTENCY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 80},
    OpenApiParameter.HEADER,
    description=(
        "Repeating a request with the same key within a day returns the first response. At most 80 characters."
    ),
)
IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "schema": {"type": "string"},
    "description": "The `ETag` you last read. Returns 412 if the object has changed since. Optional.",
}
IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "schema": {"type": "string"},
    "description": "The `ETag` of your copy. Returns 304 if it is still current.",
}
ETAG = {"description": "Version of the representation returned to you.", "schema": {"type": "string"}}
LOCATION = {"description": "URL of the new resource.", "required": True, "schema": {"type": "string"}}


class OperationSchema(AutoSchema):
    """Adds titles and what all viewsets have in common: headers, examples and locations."""

    def get_summary(self) -> str | None:
        """An imperative, such as "Cancel a run"; the description says what happens."""
        thing, act = (str(getattr(self.view, name, "") or "") for name in ("basename", "action"))
        return title_of(self.get_operation_id(), thing=thing, act=act)

    def get_override_parameters(self) -> list[Any]:
        """With the idempotency key of every POST that is remembered."""
        given: list[Any] = super().get_override_parameters()
        remembers = self.method == "POST" and getattr(self.view, "remembers_posts", False)
        return [*given, IDEMPOTENCY] if remembers else given

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:  # type: ignore[override]
        """As the framework describes it, with the rest."""
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is None or not hasattr(self.view, "remembers_posts"):
            return operation
        headers = list(self._headers())
        known = {parameter["name"] for parameter in operation.get("parameters", [])}
        added = [header for header in headers if header["name"] not in known]
        if added:
            operation["parameters"] = [*operation.get("parameters", []), *added]
        for code, response in operation["responses"].items():
            if self.method == "GET" and code == "200" and IF_NONE_MATCH in headers:
                response["headers"] = {"ETag": ETAG}
            elif self.method == "POST" and code == "201":
                response["headers"] = {"Location": LOCATION}
        return add_examples(operation)

    def _headers(self) -> Iterator[dict[str, Any]]:
        view: Any = self.view
        if self.method == "POST" and reading_action(view) is not None:
            yield IF_MATCH
        elif self.method == "GET" and is_versioned(view) and _is_json(self.get_response_serializers()):
            yield IF_NONE_MATCH


def _is_json(responses: Any) -> bool:
    """Whether the responses are JSON. Files have no version; their descriptions name a media type besides the
    status."""
    if not isinstance(responses, dict):
        return True
    return all(not isinstance(code, tuple) or code[1] == "application/json" for code in responses)
