"""The HTTP side: OpenAI's paths, and two of our own for orders and questions (``/__script__``, ``/__requests__``)."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import math
import re
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.fake_llm.faults import ERRORS, bent, dribbled, error_body
from tests.fake_llm.script import Fault, Script
from tests.fake_llm.wire import Api, FakeReply, FakeRequest, envelope, read_request, tokens

_TICK_S = 0.02


class FakeApp:
    """The application. ``stopping`` ends hanging calls when the server goes down."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.stopping = False
        self.epoch = 0
        self.asgi = Starlette(
            routes=[
                Route("/v1/models", self.models),
                Route("/v1/chat/completions", partial(self.complete, api="chat"), methods=["POST"]),
                Route("/v1/responses", partial(self.complete, api="responses"), methods=["POST"]),
                Route("/v1/embeddings", self.embeddings, methods=["POST"]),
                Route("/v1/rerank", self.rerank, methods=["POST"]),
                Route("/openai/deployments/{name}/chat/completions", self.deployed, methods=["POST"]),
                Route("/__script__", self.order, methods=["POST"]),
                Route("/__requests__", self.recorded),
            ]
        )

    async def models(self, request: Request) -> Response:
        """The models on offer."""
        if not self.script.capabilities.models:
            return _refused(404, "unknown path")
        listed = [
            {"id": name, "object": "model", "created": 0, "owned_by": "tests"}
            for name in self.script.model_names
        ]
        return JSONResponse({"object": "list", "data": listed})

    async def order(self, request: Request) -> Response:
        """Change the script by JSON."""
        try:
            self.script.apply(await request.json())
        except (ValueError, KeyError, TypeError) as error:
            return _refused(400, str(error))
        return JSONResponse({"ok": True})

    async def recorded(self, request: Request) -> Response:
        """Every model call so far."""
        calls = [{"number": r.number, "api": r.api, "body": r.body} for r in self.script.requests]
        return JSONResponse({"calls": calls, "embeddings": self.script.embedding_requests})

    async def deployed(self, request: Request) -> Response:
        """Azure's older address: a deployment in the path, a version in the query, the key in a header of its own."""
        if not request.query_params.get("api-version"):
            return _refused(404, "Resource not found", code="404")
        if not request.headers.get("api-key"):
            return _refused(401, "Access denied due to invalid subscription key", code="401")
        return await self.complete(request, api="chat")

    async def complete(self, request: Request, *, api: Api) -> Response:
        """A model call, by either API."""
        arrived = time.monotonic()
        body = await request.json()
        read = partial(_numbered, body=body, api=api, headers=dict(request.headers))
        call, fault = self.script.receive(read)
        self.script.entered()
        try:
            refused = self._lacking(call)
            if refused is not None:
                return refused
            return await self._answer(request, call, fault, arrived=arrived)
        except Exception:
            self.script.crashes.append(traceback.format_exc())
            raise
        finally:
            self.script.left()

    async def _answer(
        self, request: Request, call: FakeRequest, fault: Fault | None, *, arrived: float
    ) -> Response:
        kind = fault.kind if fault else ""
        if kind == "hang":
            await self._wait(request, until=lambda: False)
        if kind in ("hang", "drop"):
            return _Dropped()
        if fault is not None and kind in ERRORS:
            status, headers, error = error_body(fault, call)
            return JSONResponse(error, status_code=status, headers=headers)
        if kind == "redirect":
            return RedirectResponse(request.url.path, status_code=307)
        if kind == "html_page":
            return HTMLResponse("<html><body>Gateway maintenance</body></html>")
        reply = self._reply(call)
        if fault is not None:
            reply = bent(reply, fault)
        prompt_tokens, cached = len(tokens(call.prompt)), self.script.cached_tokens(call.prompt)
        await self._take_time(arrived, prompt_tokens=prompt_tokens, reply=reply)
        answer = envelope(call, reply, prompt_tokens=prompt_tokens, cached_tokens=cached)
        if kind == "no_logprobs" and call.api == "chat":
            answer["choices"][0]["logprobs"] = None
        return self._sent(answer, kind)

    def _reply(self, call: FakeRequest) -> FakeReply:
        if self.script.capabilities.ignores_schema and (call.schema or call.json_mode):
            return FakeReply("Hello there, nice to meet you.")
        if call.json_mode and "JSON schema" not in call.system:
            return FakeReply('{"ok":true}')
        return self.script.reply(call)

    def _sent(self, answer: dict[str, Any], kind: str) -> Response:
        content = json.dumps(answer).encode()
        if kind == "half_body":  # promises all, sends half: uvicorn then breaks the connection
            return _Truncated(content)
        if kind == "gzip":  # asked not to
            headers = {"Content-Encoding": "gzip"}
            return Response(gzip.compress(content), media_type="application/json", headers=headers)
        if kind == "half_json":
            return Response(content[: len(content) // 2], media_type="application/json")
        if kind == "dribble":
            return StreamingResponse(dribbled(content, wait=asyncio.sleep), media_type="application/json")
        return Response(content, media_type="application/json")

    def _refused(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None
    ) -> Response:
        """A refusal in the words of the dialect: most name no parameter."""
        shape = _SHAPES.get(self.script.dialect)
        if shape is None:
            return _refused(status, message, param=param, code=code)
        return JSONResponse(shape(status, f"{message}: {param}"), status_code=status)

    def _lacking(self, call: FakeRequest) -> Response | None:
        """The error of a server that lacks what the call needs."""
        able = self.script.capabilities
        if call.api == "responses" and not able.responses:
            return self._refused(404, "unknown path")
        if call.schema is not None and not able.json_schema:
            return self._refused(400, "unsupported", param="response_format")
        if call.json_mode and not able.json_mode:
            return self._refused(400, "unsupported", param="response_format")
        if call.want_logprobs and not able.logprobs:
            return self._refused(400, "unsupported", param="logprobs")
        if call.temperature is not None and not able.temperature:
            return self._refused(400, "unsupported", param="temperature", code="unsupported_value")
        if {"reasoning", "reasoning_effort"} & set(call.body) and not able.effort:
            return self._refused(400, "unsupported", param="reasoning_effort", code="unsupported_parameter")
        if "max_tokens" in call.body and not able.max_tokens:
            return self._refused(400, "unsupported", param="max_tokens", code="unsupported_parameter")
        return None

    async def _take_time(self, arrived: float, *, prompt_tokens: int, reply: FakeReply) -> None:
        """Sleeps until the call has taken its time since it arrived, this server's own work included."""
        latency = self.script.latency
        if latency is None:
            return
        due = latency.seconds(prompt_tokens=prompt_tokens, completion_tokens=len(tokens(reply.text)))
        await asyncio.sleep(max(0.0, due - (time.monotonic() - arrived)))

    async def _wait(self, request: Request, *, until: Callable[[], bool]) -> None:
        """Wait for ``until``, for the caller to give up, for a reset of the script, or for the server's end."""
        epoch = self.epoch
        while not (until() or self.stopping or self.epoch != epoch or await request.is_disconnected()):
            await asyncio.sleep(_TICK_S)

    async def embeddings(self, request: Request) -> Response:
        """Vectors from hashed words: texts that share words are near each other."""
        body = await request.json()
        self.script.embedding_requests.append(body)
        read = partial(_numbered, body=body | {"input": "\n".join(_listed(body["input"]))}, api="responses")
        call = read(len(self.script.embedding_requests), headers=dict(request.headers))
        fault = next((fault for fault in self.script.faults if fault.strikes(call)), None)
        if fault is not None and fault.kind in ERRORS:
            status, headers, error = error_body(fault, call)
            return JSONResponse(error, status_code=status, headers=headers)
        if fault is not None and fault.kind == "hang":
            await self._wait(request, until=lambda: False)
            return _Dropped()
        width = body.get("dimensions") or self.script.embedding_width
        rows = [
            {"object": "embedding", "index": index, "embedding": word_vector(text, width=width)}
            for index, text in enumerate(_listed(body["input"]))
        ]
        if fault is not None and fault.kind == "missing_ids":
            del rows[0]
        used = sum(len(tokens(text)) for text in _listed(body["input"]))
        usage = {"prompt_tokens": used, "total_tokens": used}
        # Backwards, because nothing promises the order of the texts.
        return JSONResponse({"object": "list", "model": body["model"], "data": rows[::-1], "usage": usage})

    async def rerank(self, request: Request) -> Response:
        """The share of the question's words in each text, in the shape of Cohere or, where ``texts`` are given, TEI."""
        body = await request.json()
        self.script.rerank_requests.append(body)
        texts = body.get("documents", body.get("texts", []))
        read = partial(_numbered, body=body | {"input": "\n".join([body["query"], *texts])}, api="responses")
        call = read(len(self.script.rerank_requests), headers=dict(request.headers))
        fault = next((fault for fault in self.script.faults if fault.strikes(call)), None)
        if fault is not None and fault.kind in ERRORS:
            status, headers, error = error_body(fault, call)
            return JSONResponse(error, status_code=status, headers=headers)
        asked = set(re.findall(r"\w+", body["query"].lower()))
        scores = [len(asked & set(re.findall(r"\w+", text.lower()))) / max(len(asked), 1) for text in texts]
        if self.script.raw_scores:
            scores = [8.0 * score - 4.0 for score in scores]
        rows = sorted(enumerate(scores), key=lambda row: -row[1])
        if fault is not None and fault.kind == "missing_ids":
            del rows[0]
        if "texts" in body:
            return JSONResponse([{"index": index, "score": score} for index, score in rows])
        used = sum(len(tokens(text)) for text in [body["query"], *texts])
        results = [{"index": index, "relevance_score": score} for index, score in rows]
        return JSONResponse({"model": body["model"], "results": results, "usage": {"total_tokens": used}})


def word_vector(text: str, *, width: int) -> list[float]:
    """Counts of hashed words, scaled to length 2, so that a caller that does not normalise is found out."""
    vector = [0.0] * width
    for word in re.findall(r"\w+", text.lower()) or ["nothing"]:
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % width] += 1.0
    norm = math.sqrt(sum(value * value for value in vector))
    return [2.0 * value / norm for value in vector]


def _numbered(number: int, *, body: dict[str, Any], api: Api, headers: dict[str, str]) -> FakeRequest:
    return read_request(body, api=api, number=number, headers=headers)


def _listed(texts: str | list[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else texts


_SHAPES: dict[str, Callable[[int, str], dict[str, Any]]] = {
    "litellm": lambda status, text: {
        "error": {"message": f"litellm.BadRequestError: {text}", "type": None, "param": None, "code": str(status)}
    },
    "vllm": lambda status, text: {
        "object": "error", "message": text, "type": "BadRequestError", "param": None, "code": status,
    },
    "anthropic": lambda _status, text: {
        "type": "error", "error": {"type": "invalid_request_error", "message": text},
    },
    "ollama": lambda _status, text: {
        "error": {"message": text, "type": "api_error", "param": None, "code": None}
    },
    "llama.cpp": lambda status, text: {
        "error": {"code": status, "message": text, "type": "invalid_request_error"}
    },
}  # fmt: skip


def _refused(status: int, message: str, *, param: str | None = None, code: str | None = None) -> Response:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return JSONResponse({"error": error}, status_code=status)


class _Dropped(Response):
    """Closes the connection without a word."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        cycle = receive.__self__  # uvicorn's request cycle, which holds the connection
        cycle.transport.abort()


class _Truncated(Response):
    """Announces the whole body and sends half of it."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(self.body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        half = self.body[: len(self.body) // 2]
        await send({"type": "http.response.body", "body": half, "more_body": True})
        receive.__self__.transport.close()
