"""The two request and answer formats of OpenAI-compatible servers, as plain functions.

``/responses`` is used where an endpoint is known to have it and no log-probabilities are wanted; everything
else goes to ``/chat/completions``, the format that every compatible server has, log-probabilities included.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from arbitration import bounded_json
from arbitration.adapters.endpoints import Endpoint, EndpointCapabilities, Usage
from arbitration.adapters.structured import json_schema, strict_schema
from arbitration.protocols import ChatRequest

TOP_LOGPROBS = 20

#: Added to the system text where a server cannot enforce a schema.
SCHEMA_IN_WORDS = (
    "Answer with one JSON object that follows this JSON schema, and nothing before or after it:\n{schema}"
)

Api = Literal["responses", "chat"]
Structure = Literal["json_schema", "json_mode", "words", "none"]


@dataclass(frozen=True, slots=True)
class WireAnswer:
    """An answer's content, whichever format it came in. ``finish_reason`` is chat's word for it."""

    text: str
    usage: Usage
    finish_reason: str
    model: str
    refusal: bool = False
    failed: bool = False
    top_logprobs: tuple[Mapping[str, float], ...] = ()


class NotAnEnvelope(ValueError):
    """The body is not what the API promises: an error page, half a document, something else's answer."""


def chosen_api(request: ChatRequest, capabilities: EndpointCapabilities) -> Api:
    """Which of the two formats to use."""
    return "responses" if capabilities.responses and not request.want_logprobs else "chat"


def chosen_structure(request: ChatRequest, capabilities: EndpointCapabilities) -> Structure:
    """How the schema is made known: enforced, JSON enforced, or only asked for in words."""
    if request.schema is None:
        return "none"
    if capabilities.json_schema or chosen_api(request, capabilities) == "responses":
        return "json_schema"
    return "json_mode" if capabilities.json_mode else "words"


def request_body(request: ChatRequest, endpoint: Endpoint) -> tuple[str, dict[str, Any]]:
    """Path and JSON body of the call."""
    capabilities = endpoint.known_capabilities
    messages = _messages(request, capabilities)
    if chosen_api(request, capabilities) == "responses":
        return "/responses", _responses_body(request, endpoint, messages)
    return "/chat/completions", _chat_body(request, endpoint, messages)


def _messages(request: ChatRequest, capabilities: EndpointCapabilities) -> list[dict[str, str]]:
    system = request.system
    if request.schema is not None and chosen_structure(request, capabilities) in ("json_mode", "words"):
        schema = json.dumps(json_schema(request.schema), separators=(",", ":"))
        system = f"{system}\n\n{SCHEMA_IN_WORDS.format(schema=schema)}".strip()
    parts = (("system", system), ("user", request.user))
    return [{"role": role, "content": content} for role, content in parts if content]


def _schema_format(request: ChatRequest) -> dict[str, Any] | None:
    if request.schema is None:
        return None
    schema, strict = strict_schema(request.schema)
    return {"name": request.schema.__name__.strip("_")[:64], "schema": schema, "strict": strict}


def _responses_body(
    request: ChatRequest, endpoint: Endpoint, messages: list[dict[str, str]]
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": endpoint.model,
        "input": messages,
        "max_output_tokens": max(
            16, endpoint.output_limit(request.max_output_tokens)
        ),  # the API takes no less
        "store": False,
    }
    if endpoint.used_effort:
        body["reasoning"] = {"effort": endpoint.used_effort}
    if endpoint.known_capabilities.temperature:
        body["temperature"] = request.temperature
    schema = _schema_format(request)
    if schema is not None:
        body["text"] = {"format": {"type": "json_schema", **schema}}
    return body


def _chat_body(request: ChatRequest, endpoint: Endpoint, messages: list[dict[str, str]]) -> dict[str, Any]:
    capabilities = endpoint.known_capabilities
    body: dict[str, Any] = {
        "model": endpoint.model,
        "messages": messages,
        capabilities.output_limit: endpoint.output_limit(request.max_output_tokens),
    }
    if endpoint.used_effort:
        body["reasoning_effort"] = endpoint.used_effort
    if capabilities.temperature:
        body["temperature"] = request.temperature
    structure = chosen_structure(request, capabilities)
    if structure == "json_schema":
        body["response_format"] = {"type": "json_schema", "json_schema": _schema_format(request)}
    elif structure == "json_mode":
        body["response_format"] = {"type": "json_object"}
    if request.want_logprobs:
        body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    return body


# --- answers -------------------------------------------------------------------------------------------


def read_chat(body: str) -> WireAnswer:
    """A ``/chat/completions`` answer; :class:`NotAnEnvelope` when it is none."""
    envelope = _json_object(body)
    choice = _first(envelope.get("choices"))
    message = _mapping(choice.get("message"))
    usage = _mapping(envelope.get("usage"))
    details = _mapping(usage.get("prompt_tokens_details"))
    finish = str(choice.get("finish_reason") or "stop")
    return WireAnswer(
        text=_content_text(message.get("content")),
        usage=_usage(
            usage.get("prompt_tokens"), details.get("cached_tokens"), usage.get("completion_tokens")
        ),
        finish_reason=finish,
        model=str(envelope.get("model") or ""),
        refusal=bool(message.get("refusal")) or finish == "content_filter",
        top_logprobs=_top_logprobs(_mapping(choice.get("logprobs"))),
    )


def read_responses(body: str) -> WireAnswer:
    """A ``/responses`` answer; :class:`NotAnEnvelope` when it is none."""
    envelope = _json_object(body)
    output = envelope.get("output")
    if not isinstance(output, list):
        raise NotAnEnvelope("no output")
    parts = [
        part
        for item in output
        if isinstance(item, dict) and item.get("type") == "message"
        for part in _list(item.get("content"))
        if isinstance(part, dict)
    ]
    usage = _mapping(envelope.get("usage"))
    details = _mapping(usage.get("input_tokens_details"))
    incomplete = str(_mapping(envelope.get("incomplete_details")).get("reason") or "")
    finish = {"max_output_tokens": "length"}.get(incomplete, incomplete or "stop")
    return WireAnswer(
        text="".join(str(part.get("text") or "") for part in parts if part.get("type") == "output_text"),
        usage=_usage(usage.get("input_tokens"), details.get("cached_tokens"), usage.get("output_tokens")),
        finish_reason=finish,
        model=str(envelope.get("model") or ""),
        refusal=finish == "content_filter" or any(part.get("type") == "refusal" for part in parts),
        failed=envelope.get("status") in ("failed", "cancelled"),
    )


def _json_object(body: str) -> dict[str, Any]:
    try:
        envelope = bounded_json.loads(body)
    except ValueError:
        raise NotAnEnvelope("not JSON") from None
    if not isinstance(envelope, dict):
        raise NotAnEnvelope("not an object")
    return envelope


def _first(choices: Any) -> dict[str, Any]:
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise NotAnEnvelope("no choices")
    return choices[0]


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _content_text(content: Any) -> str:
    """A message's text; some servers give a list of parts."""
    if isinstance(content, list):
        return "".join(str(_mapping(part).get("text") or "") for part in content)
    return content if isinstance(content, str) else ""


def _usage(given: Any, cached: Any, produced: Any) -> Usage:
    """Counts as whole numbers; a server that counts oddly must not make a cost negative."""
    tokens_in, tokens_cached, tokens_out = (_count(value) for value in (given, cached, produced))
    return Usage(tokens_in, min(tokens_cached, tokens_in), tokens_out)


def _count(value: Any) -> int:
    return max(0, int(value)) if isinstance(value, int | float) and math.isfinite(value) else 0


def _top_logprobs(logprobs: Mapping[str, Any]) -> tuple[Mapping[str, float], ...]:
    """Per output token: token text to log-probability. Tokens of the same text keep the likelier value."""
    positions = []
    for position in _list(logprobs.get("content")):
        top: dict[str, float] = {}
        for entry in [_mapping(position), *_list(_mapping(position).get("top_logprobs"))]:
            token, value = _mapping(entry).get("token"), _mapping(entry).get("logprob")
            if isinstance(token, str) and isinstance(value, int | float):
                top[token] = max(float(value), top.get(token, float("-inf")))
        positions.append(top)
    return tuple(positions)
