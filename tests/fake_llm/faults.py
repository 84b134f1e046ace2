"""Faults: answers bent out of shape, and connections that misbehave."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

from tests.fake_llm.script import Fault
from tests.fake_llm.wire import FakeReply, FakeRequest

INVENTED_ID = "p999_l1_l2"

#: HTTP status, error type and code of faults that answer with an error.
ERRORS: dict[str, tuple[int, str, str | None]] = {
    "rate_limit": (429, "rate_limit_error", "rate_limit_exceeded"),
    "server_error": (500, "server_error", None),
    "bad_request": (400, "invalid_request_error", None),
    "unauthorised": (401, "invalid_request_error", "invalid_api_key"),
}


def error_body(fault: Fault, request: FakeRequest) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Status, headers and body of an error answer. The message repeats key and prompt, as bad servers do."""
    status, kind, code = ERRORS[fault.kind]
    headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    message = f"failed for {request.headers.get('authorization', '')}: {request.prompt[:200]}"
    error = {"message": message, "type": kind, "code": fault.code or code, "param": fault.param}
    return fault.status or status, headers, {"error": error}


def bent(reply: FakeReply, fault: Fault) -> FakeReply:
    """The reply as the fault leaves it; unchanged by faults that are not about content."""
    change = _CHANGES.get(fault.kind)
    return reply if change is None else change(reply)


def _ids_changed(reply: FakeReply, change: Callable[[Any], Any]) -> FakeReply:
    try:
        value = json.loads(reply.text)
    except ValueError:
        return reply
    changed = change(value)
    return replace(reply, text=changed if isinstance(changed, str) else json.dumps(changed))


def _lists_of_candidates(value: Any) -> list[list[dict[str, Any]]]:
    """Every list of objects with a candidate id inside the value."""
    if isinstance(value, list):
        here = [value] if value and all(isinstance(item, dict) and _id_key(item) for item in value) else []
        return here + [found for item in value for found in _lists_of_candidates(item)]
    if isinstance(value, dict):
        return [found for item in value.values() for found in _lists_of_candidates(item)]
    return []


def _id_key(item: dict[str, Any]) -> str | None:
    return next((key for key in ("candidate_id", "id") if key in item), None)


def _invented(value: Any) -> Any:
    """One more candidate, which nobody offered."""
    for found in _lists_of_candidates(value):
        found.append(found[0] | {_id_key(found[0]): INVENTED_ID})
    if isinstance(value, dict) and all(isinstance(score, int | float) for score in value.values()):
        return value | {"id999": 9}
    return value


def _missing(value: Any) -> Any:
    """The first candidate is left out."""
    for found in _lists_of_candidates(value):
        del found[0]
    if isinstance(value, dict) and all(isinstance(score, int | float) for score in value.values()):
        return dict(list(value.items())[1:])
    return value


def _repeated(value: Any) -> Any:
    """The first candidate comes a second time, with another role or score."""
    for found in _lists_of_candidates(value):
        other = "discarded" if found[0].get("role") == "primary" else "primary"
        found.append(found[0] | ({"role": other} if "role" in found[0] else {}))
    if isinstance(value, dict) and value and all(isinstance(score, int | float) for score in value.values()):
        first = json.dumps(next(iter(value)))
        return f"{json.dumps(value)[:-1]}, {first}: 5}}"
    return value


_CHANGES: dict[str, Callable[[FakeReply], FakeReply]] = {
    "cut_off": lambda reply: replace(reply, text=reply.text[: len(reply.text) // 2], finish_reason="length"),
    "wrong_schema": lambda reply: replace(reply, text='{"unexpected":[1,2,3]}'),
    "not_json": lambda reply: replace(reply, text="The first one seems best to me, the rest less so."),
    "prose_json": lambda reply: replace(
        reply, text=f"Here is my answer:\n```json\n{reply.text}\n```\nGood luck!"
    ),
    "empty": lambda reply: replace(reply, text=""),
    "refusal": lambda reply: replace(reply, text="", refusal="I can't help with that."),
    "refusal_text": lambda reply: replace(reply, text="I'm sorry, but I can't assist with that request."),
    "invented_ids": lambda reply: _ids_changed(reply, _invented),
    "missing_ids": lambda reply: _ids_changed(reply, _missing),
    "repeated_ids": lambda reply: _ids_changed(reply, _repeated),
}


async def dribbled(body: bytes, *, wait: Callable[[float], Any]) -> AsyncIterator[bytes]:
    """The body byte by byte, too slowly ever to end, yet never silent for long."""
    for position in range(len(body)):
        yield body[position : position + 1]
        await wait(0.05)
