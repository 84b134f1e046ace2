"""The way to language models: which endpoint, under which budget, written down call by call.

Ledger, guard and cache are the hooks of :mod:`arbitration.adapters.endpoints`. Model calls wait outside any
transaction, and the database connection is given back before each wait.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from decimal import Decimal
from typing import Any

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Sum
from django.db.models.functions import Now, TruncMonth

from arbitration.adapters.endpoints import Endpoint, EndpointCapabilities, LedgerEntry, Price
from arbitration.adapters.openai_chat import OpenAIChat
from arbitration.adapters.probe import probe
from arbitration.errors import LLMFailure
from arbitration.protocols import ChatModel, ChatReply, ChatRequest
from workbench.documents.models import Collection
from workbench.ops.storable import storable, storable_json

from .models import LLMCall, LLMCallBody, LLMControl, LLMEndpoint, LLMReply, Run

logger = structlog.get_logger(__name__)

DEFAULT_BASE_URL = "https://api.openai.com/v1"


def endpoint_configured() -> bool:
    """Whether this installation has a language model at all."""
    return bool(settings.LLM_CONFIGURED)


def endpoint_name() -> str:
    """The name collections list to allow the installation's endpoint: its address."""
    return settings.OPENAI_BASE_URL or DEFAULT_BASE_URL


def endpoint_allowed(collection: Collection) -> bool:
    """Whether the collection lets its text go to the installation's endpoint. A list that was never edited
    names it (see :func:`workbench.documents.services.collection_create`)."""
    return endpoint_name() in collection.allowed_endpoints


def chat_model(*, run: Run) -> ChatModel | None:
    """The model for a run, or None where none is configured."""
    if not endpoint_configured():
        return None
    endpoint = _endpoint()
    return OpenAIChat(
        endpoint,
        ledger=DatabaseLedger(run=run),
        guard=BudgetGuard(run=run),
        cache=CollectionReplyCache(collection_id=run.collection_id) if run.use_cache else None,
    )


def _endpoint() -> Endpoint:
    price = settings.LLM_PRICES.get(settings.OPENAI_MODEL, settings.LLM_PRICES["default"])
    base = Endpoint(
        name=endpoint_name(),
        base_url=settings.OPENAI_BASE_URL or DEFAULT_BASE_URL,
        model=settings.OPENAI_MODEL,
        api_key=settings.OPENAI_API_KEY,
        price=Price(*price),
        max_concurrency=settings.LLM_MAX_CONCURRENCY,
    )
    return Endpoint(**{**_fields(base), "capabilities": _capabilities(base)})


def _fields(endpoint: Endpoint) -> dict[str, Any]:
    return {name: getattr(endpoint, name) for name in Endpoint.__dataclass_fields__}


def _capabilities(endpoint: Endpoint) -> EndpointCapabilities | None:
    """What the endpoint can do: as stored, else as found by a probe now. An endpoint that does not answer is
    not remembered; the call that follows reports it."""
    stored = LLMEndpoint.objects.filter(base_url=endpoint.base_url, model=endpoint.model).first()
    if stored is not None:
        return EndpointCapabilities(**{**stored.capabilities, "models": tuple(stored.capabilities["models"])})
    give_connection_back()
    try:
        found = probe(endpoint)
    except LLMFailure as failure:
        logger.warning("gateway.probe_failed", endpoint=endpoint.name, outcome=failure.outcome)
        return None
    LLMEndpoint.objects.update_or_create(
        base_url=endpoint.base_url,
        model=endpoint.model,
        defaults={
            "name": _short_name(endpoint),
            "capabilities": asdict(found),
            "probed_at": Now(),
        },
    )
    return found


def _short_name(endpoint: Endpoint) -> str:
    """A name of at most 80 characters; long ones end in a hash, so that no two endpoints share one."""
    name = f"{endpoint.name} {endpoint.model}"
    return name if len(name) <= 80 else f"{name[:69]} {hashlib.sha256(name.encode()).hexdigest()[:10]}"


def give_connection_back() -> None:
    """Closes the database connection of this thread before a long wait, unless a transaction needs it."""
    if not connection.in_atomic_block:
        connection.close()


class DatabaseLedger:
    """Writes every attempt, failures too, as soon as it ended."""

    def __init__(self, *, run: Run) -> None:
        self._run_id, self._collection_id = run.pk, run.collection_id

    def record(self, call: LedgerEntry) -> None:
        """Stores the attempt with its bodies and gives the connection back."""
        with transaction.atomic():
            row = LLMCall.objects.create(
                run_id=self._run_id,
                collection_id=self._collection_id,
                stage=call.stage,
                endpoint=call.endpoint[:200],
                model=call.model[:120],
                prompt_name=call.prompt_name,
                prompt_version=call.prompt_version,
                prompt_hash=call.prompt_hash,
                parameters=dict(call.parameters),
                request_hash=call.request_hash,
                attempt=call.attempt,
                outcome=call.outcome,
                input_tokens=call.input_tokens,
                cached_tokens=min(call.cached_tokens, call.input_tokens),
                output_tokens=call.output_tokens,
                cost=Decimal(str(round(call.cost, 6))),
                latency_ms=call.latency_ms,
            )
            LLMCallBody.objects.create(
                call=row,
                request=storable_json(dict(call.request_body)),
                response=_without_nul(call.response_body),
            )
        give_connection_back()


def _without_nul(text: str | None) -> str | None:
    """PostgreSQL's JSON cannot hold NUL."""
    return None if text is None else storable(text).replace("\\u0000", "")


class BudgetGuard:
    """Lets an attempt pass only when the switch is on, the collection allows the endpoint, and both budgets
    have room for it."""

    def __init__(self, *, run: Run) -> None:
        self._run = run

    def allow(self, request: ChatRequest, estimated_cost: float) -> None:
        """Raises ``LLMFailure`` with ``stopped``, ``not_allowed`` or ``budget``."""
        control = llm_control()
        if control.is_stopped:
            raise LLMFailure("stopped", f"Use of language models is stopped: {control.stop_reason}")
        if not endpoint_allowed(self._run.collection):
            raise LLMFailure(
                "not_allowed",
                f"This collection does not allow the endpoint {endpoint_name()}. An admin can add it.",
            )
        estimate = Decimal(str(estimated_cost))
        self._check("run", control.run_budget, spent_by_run(run_id=self._run.pk) + estimate)
        self._check("month", control.month_budget, spent_this_month() + estimate)
        give_connection_back()

    @staticmethod
    def _check(name: str, limit: Decimal | None, would_be: Decimal) -> None:
        if limit is not None and would_be > limit:
            raise LLMFailure(
                "budget", f"The budget per {name} is {limit} USD; this call could bring it to {would_be:.4f}."
            )


def llm_control() -> LLMControl:
    """The stop switch and the budgets."""
    return LLMControl.objects.get_or_create(pk=1)[0]


def spent_by_run(*, run_id: int) -> Decimal:
    """USD spent for a run so far."""
    return LLMCall.objects.filter(run_id=run_id).aggregate(total=Sum("cost"))["total"] or Decimal(0)


def spent_this_month() -> Decimal:
    """USD spent since the first of this month (UTC)."""
    calls = LLMCall.objects.filter(created_at__gte=TruncMonth(Now()))
    return calls.aggregate(total=Sum("cost"))["total"] or Decimal(0)


class CollectionReplyCache:
    """Answers by request hash; one collection's text never answers another's."""

    def __init__(self, *, collection_id: int) -> None:
        self._collection_id = collection_id

    def get(self, request_hash: str) -> ChatReply | None:
        """The stored reply, or None."""
        stored = LLMReply.objects.filter(collection_id=self._collection_id, request_hash=request_hash).first()
        if stored is None:
            return None
        fields = stored.reply | {"top_logprobs": tuple(stored.reply["top_logprobs"])}
        return ChatReply(parsed=None, **fields)

    def put(self, request_hash: str, reply: ChatReply) -> None:
        """Stores a usable reply; the first one stays."""
        fields = asdict(reply)
        fields.pop("parsed")
        fields["top_logprobs"] = [dict(token) for token in reply.top_logprobs]
        LLMReply.objects.get_or_create(
            collection_id=self._collection_id,
            request_hash=request_hash,
            defaults={"reply": storable_json(fields)},
        )
        give_connection_back()


def installation_model() -> str:
    """What goes into cache keys for the model in use."""
    return f"{endpoint_name()} {settings.OPENAI_MODEL}"
