"""The request a behaviour sees, the reply it gives, and the two envelopes replies travel in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Api = Literal["chat", "responses"]

#: As in the usual tokenizers, white space goes with the word or sign after it, and never with a number.
_TOKEN = re.compile(r"\d{1,3}|\s+(?=\d)|\s*(?:[^\W\d_]{1,6}|[^\w\s]{1,3}|_|\s+$)")

#: How sure the fake is of a token it chose, and what else it could have said.
_CHOSEN = -0.05
_OTHERS = tuple(f"other{number}" for number in range(19))


def tokens(text: str) -> list[str]:
    """The text in pieces of about the size of real tokens, leading space included; joined they are the text."""
    return _TOKEN.findall(text)


@dataclass(frozen=True)
class FakeRequest:
    """A model call as the server got it. ``number`` counts model calls from 1 since the last reset."""

    number: int
    api: Api
    model: str
    system: str
    user: str
    schema: dict[str, Any] | None
    json_mode: bool
    want_logprobs: bool
    max_tokens: int | None
    temperature: float | None
    body: dict[str, Any] = field(repr=False)
    headers: dict[str, str] = field(repr=False)

    @property
    def prompt(self) -> str:
        """System and user text together."""
        return f"{self.system}\n{self.user}"


@dataclass(frozen=True)
class FakeReply:
    """What the model says. ``first_logprobs`` replaces the log-probabilities of the first token."""

    text: str
    finish_reason: str = "stop"
    refusal: str | None = None
    first_logprobs: Mapping[str, float] | None = None


def read_request(body: dict[str, Any], *, api: Api, number: int, headers: dict[str, str]) -> FakeRequest:
    """The call in either format as a behaviour sees it."""
    messages = body.get("messages", []) if api == "chat" else body.get("input", [])
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    form = (
        body.get("response_format") or {} if api == "chat" else (body.get("text") or {}).get("format") or {}
    )
    schema = (form.get("json_schema") or form).get("schema") if form.get("type") == "json_schema" else None
    limits = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    return FakeRequest(
        number=number,
        api=api,
        model=str(body.get("model", "")),
        system="\n".join(_text(m) for m in messages if m.get("role") in ("system", "developer")),
        user="\n".join(_text(m) for m in messages if m.get("role") == "user"),
        schema=schema,
        json_mode=form.get("type") == "json_object",
        want_logprobs=bool(body.get("logprobs")),
        max_tokens=next((body[limit] for limit in limits if limit in body), None),
        temperature=body.get("temperature"),
        body=body,
        headers=headers,
    )


def _text(message: dict[str, Any]) -> str:
    content = message.get("content", "")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content)


def envelope(
    request: FakeRequest, reply: FakeReply, *, prompt_tokens: int, cached_tokens: int
) -> dict[str, Any]:
    """The reply as the API that was called returns it."""
    build = _chat_envelope if request.api == "chat" else _responses_envelope
    return build(request, reply, prompt_tokens, cached_tokens, len(tokens(reply.text)))


def _chat_envelope(
    request: FakeRequest, reply: FakeReply, prompt: int, cached: int, completion: int
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
    if reply.refusal is not None:
        message["content"] = None
    choice: dict[str, Any] = {
        "index": 0,
        "message": message,
        "finish_reason": reply.finish_reason,
        "logprobs": None,
    }
    if request.want_logprobs:
        choice["logprobs"] = {"content": _logprobs(reply)}
    return {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion",
        "created": 0,
        "model": request.model,
        "choices": [choice],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


def _responses_envelope(
    request: FakeRequest, reply: FakeReply, prompt: int, cached: int, completion: int
) -> dict[str, Any]:
    cut = reply.finish_reason == "length"
    part: dict[str, Any] = {"type": "output_text", "text": reply.text, "annotations": []}
    if reply.refusal is not None:
        part = {"type": "refusal", "refusal": reply.refusal}
    return {
        "id": f"resp_{request.number}",
        "object": "response",
        "created_at": 0,
        "model": request.model,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": [
            {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        ],
        "usage": {
            "input_tokens": prompt,
            "output_tokens": completion,
            "total_tokens": prompt + completion,
            "input_tokens_details": {"cached_tokens": cached},
        },
    }


def _logprobs(reply: FakeReply) -> list[dict[str, Any]]:
    """Twenty alternatives per token, the chosen one first."""
    positions = []
    for index, token in enumerate(tokens(reply.text)):
        top = {token: _CHOSEN} | {other: -6.0 - rank for rank, other in enumerate(_OTHERS)}
        if index == 0 and reply.first_logprobs is not None:
            top = dict(reply.first_logprobs)
        ranked = sorted(top.items(), key=lambda pair: -pair[1])
        alternatives = [
            {"token": name, "logprob": value, "bytes": list(name.encode())} for name, value in ranked
        ]
        positions.append(
            {
                "token": token,
                "logprob": top.get(token, ranked[0][1]),
                "bytes": None,
                "top_logprobs": alternatives,
            }
        )
    return positions
