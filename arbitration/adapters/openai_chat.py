"""A chat model behind any OpenAI-compatible endpoint. Implements ``protocols.ChatModel``."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from arbitration.adapters.endpoint_calls import CallerOptions, EndpointCaller, Reading, WireCall
from arbitration.adapters.endpoints import Endpoint, ReplyCache, Usage
from arbitration.adapters.openai_sdk import CallFailure
from arbitration.adapters.openai_wire import (
    NotAnEnvelope,
    WireAnswer,
    chosen_structure,
    read_chat,
    read_responses,
    request_body,
)
from arbitration.adapters.structured import check_length, json_schema, looks_like_refusal, parse_answer
from arbitration.errors import LLMFailure
from arbitration.protocols import ChatReply, ChatRequest


class OpenAIChat:
    """One model at one endpoint. Thread-safe; create it after a fork and close it when done.

    A request's time-out bounds each attempt, ``deadline_s`` everything together, with waiting for a free
    slot and pauses between attempts. Answers are validated here whatever the server promises. Only answers
    at temperature 0 are cached; a cached reply counts no tokens and no cost.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        cache: ReplyCache | None = None,
        **options: Unpack[CallerOptions],
    ) -> None:
        self.endpoint = endpoint
        self._cache = cache
        self._caller = EndpointCaller(endpoint, **options)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.endpoint.model

    @property
    def supports_logprobs(self) -> bool:
        """Whether the endpoint was seen to return log-probabilities."""
        return self.endpoint.known_capabilities.logprobs

    def close(self) -> None:
        """Close the connections."""
        self._caller.close()

    def complete(self, request: ChatRequest) -> ChatReply:
        """One call, or the cached answer of an equal one. Raises ``LLMFailure``."""
        if request.want_logprobs and not self.supports_logprobs:
            raise LLMFailure(
                "bad_request",
                f"endpoint {self.endpoint.name} is not known to return log-probabilities; "
                "probe it, or choose another endpoint or strategy",
            )
        call = self._wire_call(request)
        cached = self._cached(request, call.request_hash)
        if cached is not None:
            return cached
        read = partial(_read, request=request, endpoint=self.endpoint, path=call.path)
        done = self._caller.call(call, read=read)
        reply = replace(done.value, latency_ms=done.latency_ms, cost=done.cost)
        if self._cache is not None and request.temperature == 0:
            self._cache.put(call.request_hash, replace(reply, parsed=None))
        return reply

    def _wire_call(self, request: ChatRequest) -> WireCall:
        path, body = request_body(request, self.endpoint)
        parameters = {
            "path": path,
            "structure": chosen_structure(request, self.endpoint.known_capabilities),
            "schema": request.schema.__name__ if request.schema else None,
            "temperature": request.temperature,
            "max_output_tokens": request.max_output_tokens,
            "thinking_tokens": self.endpoint.thinking_tokens if self.endpoint.thinks else 0,
            "effort": self.endpoint.used_effort,
            "logprobs": request.want_logprobs,
            "timeout_s": request.timeout_s,
            "retries": request.retries,
        }
        return WireCall(path, body, request, request_hash(request, endpoint=self.endpoint), parameters)

    def _cached(self, request: ChatRequest, key: str) -> ChatReply | None:
        if self._cache is None or request.temperature != 0:
            return None
        reply = self._cache.get(key)
        if reply is None:
            return None
        try:
            parsed = parse_answer(reply.text, request.schema) if request.schema else None
        except LLMFailure:
            return None
        return replace(
            reply,
            parsed=parsed,
            endpoint=self.endpoint.name,
            input_tokens=0,
            cached_tokens=0,
            output_tokens=0,
            latency_ms=0.0,
            cost=0.0,
            from_cache=True,
        )


def request_hash(request: ChatRequest, *, endpoint: Endpoint) -> str:
    """SHA-256 over everything that changes the answer: address, the body exactly as sent (model, messages,
    schema, parameters), the prompt's hash and the schema it is validated against."""
    path, body = request_body(request, endpoint)
    schema: Any = json_schema(request.schema) if request.schema else None
    parts = [endpoint.base_url, path, body, request.prompt_hash, schema]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def _read(body: str, *, request: ChatRequest, endpoint: Endpoint, path: str) -> Reading[ChatReply]:
    """A successful HTTP response as a reply, or as the failure it amounts to."""
    try:
        answer = _envelope(body, path)
    except NotAnEnvelope as error:
        failure = LLMFailure(
            "unparseable", f"endpoint {endpoint.name} sent something else than an answer: {error}"
        )
        return Reading(Usage(), "", failure=failure)
    try:
        _check_finished(answer, request, endpoint)
        parsed = parse_answer(answer.text, request.schema) if request.schema else None
    except LLMFailure as failure:
        return Reading(answer.usage, answer.finish_reason, failure=failure)
    reply = replace(_reply(answer, endpoint=endpoint.name, model=endpoint.model), parsed=parsed)
    return Reading(answer.usage, answer.finish_reason, value=reply)


def reply_of_body(body: str, *, path: str, endpoint: str, model: str) -> ChatReply | None:
    """The reply, not yet validated, in the kept body of an answer that was ``ok``; None where there is none in it.

    ``path`` is that of the request, ``model`` its model, should the answer not name one.
    """
    try:
        return _reply(_envelope(body, path), endpoint=endpoint, model=model)
    except NotAnEnvelope:
        return None


def _envelope(body: str, path: str) -> WireAnswer:
    return read_responses(body) if path == "/responses" else read_chat(body)


def _reply(answer: WireAnswer, *, endpoint: str, model: str) -> ChatReply:
    return ChatReply(
        text=answer.text,
        parsed=None,
        model=answer.model or model,
        endpoint=endpoint,
        input_tokens=answer.usage.input_tokens,
        cached_tokens=answer.usage.cached_tokens,
        output_tokens=answer.usage.output_tokens,
        finish_reason=answer.finish_reason,
        top_logprobs=answer.top_logprobs,
    )


def _check_finished(answer: WireAnswer, request: ChatRequest, endpoint: Endpoint) -> None:
    """Raises when the answer is not a whole one: failed, refused, cut off, empty, without log-probabilities."""
    name = f"endpoint {endpoint.name}"
    if answer.failed:
        raise CallFailure("server_error", f"{name} reports that the model failed; try later")
    if answer.refusal:
        raise LLMFailure("refused", f"the model at {name} declined to answer")
    if answer.finish_reason == "length":
        raise LLMFailure(
            "cut_off",
            f"the answer of {name} was cut off at {endpoint.output_limit(request.max_output_tokens)} tokens; "
            "allow more or ask less",
        )
    if not answer.text.strip():
        raise LLMFailure("unparseable", f"{name} answered nothing")
    check_length(answer.text)
    if request.schema is None and not request.want_logprobs and looks_like_refusal(answer.text):
        raise LLMFailure("refused", f"the model at {name} declined to answer")
    if request.want_logprobs and not answer.top_logprobs:
        raise LLMFailure("bad_request", f"{name} returned no log-probabilities; probe its capabilities again")
