"""Access to language models: the endpoint, the budget, and a record of every call.

Ledger, guard and cache are the hooks of :mod:`arbitration.adapters.endpoints`. Model calls wait outside any
transaction, and the database connection is closed before each wait.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, cast

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Now, TruncMonth

from arbitration.adapters.breaker import ENDPOINT_FAILURES, CircuitBreaker, breaker_of
from arbitration.adapters.endpoints import (
    Effort,
    Endpoint,
    EndpointCapabilities,
    LedgerEntry,
    ReplyCache,
)
from arbitration.adapters.openai_chat import OpenAIChat, reply_of_body
from arbitration.adapters.probe import Prober, probe
from arbitration.adapters.rerank_endpoint import EndpointReranker
from arbitration.errors import LLMFailure
from arbitration.protocols import ChatModel, ChatReply, ChatRequest, CrossEncoder
from workbench.documents.embedding import local_reranker
from workbench.documents.models import Collection
from workbench.infra.calls import observe_call
from workbench.infra.model_endpoints import ModelEndpoint, default_address, is_local, model_endpoints
from workbench.infra.outbound import model_rule
from workbench.infra.storable import storable, storable_json
from workbench.infra.tracing import here

from .models import LLMCall, LLMCallBody, LLMControl, LLMEndpoint, LLMReply, Run
from .prices import price_of

logger = structlog.get_logger(__name__)

#: How many calls, and how far back, the ledger is asked whether the endpoint answers.
TROUBLE_CALLS = 5
TROUBLE_WINDOW = timedelta(minutes=5)
PROBE_TIMEOUT_S = 30.0
#: A person waits for a greeting: one attempt, in a third of the time that all of them may take.
GREETING_TIMEOUT_S = 5.0
#: Outcomes of attempts that were refused here, before anything was sent.
NOT_SENT = ("budget", "stopped", "circuit_open")
#: Outcomes that say nothing of question and passages: the same call may well succeed another time.
PASSING = (*NOT_SENT, "not_allowed", "timeout", "connection", "rate_limited", "server_error")


def endpoint_configured() -> bool:
    return bool(model_endpoints())


def endpoint_name() -> str:
    """The name of the installation's first endpoint in the allowed endpoints of collections: its address."""
    return next((endpoint.base_url for endpoint in model_endpoints()), default_address())


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model of a collection, and its endpoint."""

    endpoint: ModelEndpoint
    model: str

    @property
    def name(self) -> str:
        """The name in cache keys."""
        return f"{self.endpoint.base_url} {self.model}"


def model_choice(collection: Collection) -> ModelChoice | None:
    """The model of the collection: the chosen one, else the first endpoint with an allowed address, else the
    installation's first. None if none is configured or the chosen one no longer exists, so that its text goes to no
    other endpoint."""
    known = model_endpoints()
    if collection.model_endpoint:
        chosen = [endpoint for endpoint in known if endpoint.name == collection.model_endpoint]
        model = collection.model_name or next((endpoint.models[0] for endpoint in chosen), "")
        return next((ModelChoice(e, model) for e in chosen if model in e.models), None)
    allowed = [endpoint for endpoint in known if endpoint.base_url in collection.allowed_endpoints]
    return next((ModelChoice(endpoint, endpoint.models[0]) for endpoint in allowed or known), None)


def endpoint_allowed(collection: Collection) -> bool:
    """Whether the collection allows its text to go to its endpoint. A list that was never edited contains the
    installation's first endpoint (see :func:`workbench.documents.services.collection_create`)."""
    choice = model_choice(collection)
    return choice is not None and choice.endpoint.base_url in collection.allowed_endpoints


@contextmanager
def chat_model(*, run: Run) -> Iterator[ChatModel | None]:
    """The model for a run, or None if none is configured. Its connections are closed at the end. Answers that the run
    received before its worker was lost are reused. A call takes at most ``LLM_TIMEOUT_SECONDS``, including waiting for
    a slot, retries and pauses."""
    choice = model_choice(run.collection)
    if choice is None:
        yield None
        return
    endpoint = _endpoint(choice, strategy=run.strategy)
    hooks = _hooks(endpoint, run=run, collection=run.collection)
    chat = OpenAIChat(
        _probed(endpoint, hooks),
        cache=_replies(run),
        deadline_s=float(settings.LLM_TIMEOUT_SECONDS),
        **hooks,
    )
    try:
        yield chat
    finally:
        chat.close()


def cross_encoder_allowed(collection: Collection) -> bool:
    """Whether there is a cross-encoder and the collection allows its text to go there."""
    return bool(settings.RERANK_BASE_URL) and settings.RERANK_BASE_URL in collection.allowed_endpoints


@contextmanager
def cross_encoder(*, run: Run) -> Iterator[CrossEncoder | None]:
    """The cross-encoder for a run: the endpoint's (closed at the end), else the local one, else None. Endpoint calls
    pass the same switch, budgets and ledger as language model calls."""
    if not cross_encoder_allowed(run.collection):
        yield local_reranker()
        return
    known = ModelEndpoint(
        "rerank", settings.RERANK_BASE_URL, (settings.RERANK_MODEL,), settings.RERANK_API_KEY
    )
    endpoint = _endpoint(ModelChoice(known, settings.RERANK_MODEL))
    encoder = EndpointReranker(
        endpoint,
        dialect=settings.RERANK_DIALECT,
        deadline_s=float(settings.LLM_TIMEOUT_SECONDS),
        **_hooks(endpoint, run=run, collection=run.collection),
    )
    give_connection_back()
    try:
        yield encoder
    finally:
        encoder.close()


def collection_chat_model(*, collection: Collection, model: str = "") -> OpenAIChat | None:
    """A model for work on a collection outside runs, such as evaluations; None if none is configured. ``model`` selects
    another model at the same address. Nothing is cached. Close it when done."""
    choice = model_choice(collection)
    if choice is None:
        return None
    endpoint = _endpoint(replace(choice, model=model) if model else choice)
    hooks = _hooks(endpoint, run=None, collection=collection)
    return OpenAIChat(_probed(endpoint, hooks), **hooks)


def endpoint_greet(choice: ModelChoice) -> None:
    """Sends a test prompt to a model, for no collection. The stop switch and the month's budget apply, a circuit
    breaker does not. Raises ``LLMFailure`` if no answer comes in time."""
    endpoint = _endpoint(choice)
    give_connection_back()
    Prober(
        endpoint,
        ledger=DatabaseLedger(run=None, collection=None),
        guard=BudgetGuard(run=None, collection=None, endpoint=endpoint),
        breaker=None,
        address_rule=model_rule(base_url=endpoint.base_url),
        timeout_s=GREETING_TIMEOUT_S,
    ).basics()


def _hooks(endpoint: Endpoint, *, run: Run | None, collection: Collection) -> dict[str, Any]:
    """The hooks of every call, including the probe, as keyword arguments."""
    breaker = breaker_of(
        endpoint,
        failures=settings.LLM_BREAKER_FAILURES,
        pause_s=settings.LLM_BREAKER_PAUSE_SECONDS,
    )
    return {
        "ledger": DatabaseLedger(run=run, collection=collection, breaker=breaker),
        "guard": BudgetGuard(run=run, collection=collection, endpoint=endpoint),
        "breaker": breaker,
        "address_rule": model_rule(base_url=endpoint.base_url),
    }


def _endpoint(choice: ModelChoice, *, strategy: str = "") -> Endpoint:
    known = choice.endpoint
    reasoning = known.reasoning_for(strategy)
    return Endpoint(
        name=known.base_url,
        base_url=known.base_url,
        model=choice.model,
        api_key=known.api_key,
        price=price_of(model=choice.model, is_local=is_local(known)),
        max_concurrency=settings.LLM_MAX_CONCURRENCY,
        effort=cast("Effort | None", reasoning.effort),
        thinking_tokens=reasoning.tokens or 0,
    )


def _probed(endpoint: Endpoint, hooks: Mapping[str, Any]) -> Endpoint:
    """The endpoint with its capabilities: stored ones, or found by a probe now.

    A new level of reasoning effort is probed separately, because strategies may use their own levels. A failed probe is
    not stored: the call that follows reports the failure.
    """
    stored = LLMEndpoint.objects.filter(base_url=endpoint.base_url, model=endpoint.model).first()
    known, levels = _stored(stored)
    if known is not None and (endpoint.effort is None or endpoint.effort in levels):
        taken = levels.get(endpoint.effort, False) if endpoint.effort else False
        return replace(endpoint, capabilities=replace(known, effort=taken, effort_tried=endpoint.effort))
    give_connection_back()
    try:
        found = probe(
            endpoint,
            known=known,
            timeout_s=min(PROBE_TIMEOUT_S, float(settings.LLM_TIMEOUT_SECONDS)),
            **hooks,
        )
    except LLMFailure as failure:
        logger.warning("gateway.probe_failed", endpoint=endpoint.name, outcome=failure.outcome)
        return replace(endpoint, capabilities=replace(endpoint.known_capabilities, logprobs=True))
    LLMEndpoint.objects.update_or_create(
        base_url=endpoint.base_url,
        model=endpoint.model,
        defaults={
            "name": _short_name(endpoint),
            "capabilities": asdict(found) | {"levels": levels | _level(found)},
            "probed_at": Now(),
        },
    )
    return replace(endpoint, capabilities=found)


def _stored(row: LLMEndpoint | None) -> tuple[EndpointCapabilities | None, dict[str, bool]]:
    """The stored result of a probe, and which levels of reasoning effort are accepted or refused."""
    if row is None:
        return None, {}
    known = {name: value for name, value in row.capabilities.items() if name != "levels"}
    found = EndpointCapabilities(**known | {"models": tuple(known["models"])})
    return found, row.capabilities.get("levels", {}) | _level(found)


def _level(found: EndpointCapabilities) -> dict[str, bool]:
    return {found.effort_tried: found.effort} if found.effort_tried else {}


def _short_name(endpoint: Endpoint) -> str:
    """A name of at most 80 characters; long ones end in a hash, so that no two endpoints share one."""
    name = f"{endpoint.name} {endpoint.model}"
    return name if len(name) <= 80 else f"{name[:69]} {hashlib.sha256(name.encode()).hexdigest()[:10]}"


def give_connection_back() -> None:
    """Closes the database connection of this thread before a long wait, unless a transaction needs it."""
    if not connection.in_atomic_block:
        connection.close()


class DatabaseLedger:
    """Writes every attempt, including failures, as soon as it has ended."""

    def __init__(
        self, *, run: Run | None, collection: Collection | None, breaker: CircuitBreaker | None = None
    ) -> None:
        self._run_id = run.pk if run else None
        self._collection_id = collection.pk if collection else None
        self._breaker, self._trace = breaker, here()

    def record(self, call: LedgerEntry) -> None:
        """Stores the attempt with its bodies and closes the connection."""
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
                is_priced=call.is_priced,
                latency_ms=call.latency_ms,
            )
            LLMCallBody.objects.create(
                call=row,
                request=storable_json(dict(call.request_body)),
                response=_without_nul(call.response_body),
            )
        give_connection_back()
        observe_call(call, breaker=self._breaker, run_id=self._run_id, trace=self._trace)


def _without_nul(text: str | None) -> str | None:
    """PostgreSQL's JSON cannot hold NUL."""
    return None if text is None else storable(text).replace("\\u0000", "")


class BudgetGuard:
    """Allows an attempt only if models are not stopped, the collection (if any) allows the endpoint, and both budgets
    have room."""

    def __init__(
        self, *, run: Run | None, collection: Collection | None, endpoint: Endpoint | None = None
    ) -> None:
        self._run, self._collection = run, collection
        self._address = endpoint.base_url if endpoint else endpoint_name()
        self._model = endpoint.model if endpoint else ""

    def allow(self, request: ChatRequest, estimated_cost: float | None) -> None:
        """Raises ``LLMFailure`` with ``stopped``, ``not_allowed`` or ``budget``."""
        control = llm_control()
        if control.is_stopped:
            raise LLMFailure("stopped", f"Use of language models is stopped: {control.stop_reason}")
        if self._collection and self._address not in self._collection.allowed_endpoints:
            raise LLMFailure(
                "not_allowed",
                f"This collection does not allow the endpoint {self._address}. An admin can add it.",
            )
        if estimated_cost is None:
            self._check_unpriced(control)
            give_connection_back()
            return
        estimate = Decimal(str(estimated_cost))
        if self._run is not None:
            self._check(
                "run", control.run_budget, _spent(LLMCall.objects.filter(run_id=self._run.pk)) + estimate
            )
        self._check("month", control.month_budget, spent_this_month() + estimate)
        give_connection_back()

    def _check_unpriced(self, control: LLMControl) -> None:
        """Refuses a call of unknown cost if a budget is set, because the budget could not be enforced."""
        budgets = (control.month_budget, control.run_budget if self._run is not None else None)
        if any(budget is not None for budget in budgets):
            raise LLMFailure(
                "budget",
                f"The model {self._model} has no price, so the budget cannot hold it. An administrator "
                "enters its price under Operations, or takes the budgets away.",
            )

    @staticmethod
    def _check(name: str, limit: Decimal | None, would_be: Decimal) -> None:
        if limit is not None and would_be > limit:
            raise LLMFailure(
                "budget", f"The budget per {name} is {limit} USD; this call could bring it to {would_be:.4f}."
            )


def llm_control() -> LLMControl:
    """The stop switch and the budgets."""
    return LLMControl.objects.get_or_create(pk=1)[0]


def _spent(calls: QuerySet[LLMCall]) -> Decimal:
    """USD."""
    return calls.aggregate(total=Sum("cost"))["total"] or Decimal(0)


def failed_in_passing(*, run_id: int) -> bool:
    """Whether a call of the run failed for a temporary reason."""
    calls = LLMCall.objects.filter(run_id=run_id)
    answered = calls.filter(outcome="ok").values("request_hash")
    return calls.filter(outcome__in=PASSING).exclude(request_hash__in=answered).exists()


def spent_this_month() -> Decimal:
    """USD spent since the first of this month (UTC)."""
    return _spent(LLMCall.objects.filter(created_at__gte=TruncMonth(Now())))


class CollectionReplyCache:
    """Cached answers by request hash, separate for each collection."""

    def __init__(self, *, collection_id: int) -> None:
        self._collection_id = collection_id

    def get(self, request_hash: str) -> ChatReply | None:
        stored = LLMReply.objects.filter(collection_id=self._collection_id, request_hash=request_hash).first()
        if stored is None:
            return None
        fields = stored.reply | {"top_logprobs": tuple(stored.reply["top_logprobs"])}
        return ChatReply(parsed=None, **fields)

    def put(self, request_hash: str, reply: ChatReply) -> None:
        """Stores a usable reply. An existing one is kept."""
        fields = asdict(reply)
        fields.pop("parsed")
        fields["top_logprobs"] = [dict(token) for token in reply.top_logprobs]
        LLMReply.objects.get_or_create(
            collection_id=self._collection_id,
            request_hash=request_hash,
            defaults={"reply": storable_json(fields)},
        )
        give_connection_back()


class RunReplies:
    """Answers that a run without cache has already received, read from its ledger. A worker that takes over after a
    fault pays for nothing twice."""

    def __init__(self, *, run_id: int) -> None:
        self._run_id = run_id

    def get(self, request_hash: str) -> ChatReply | None:
        kept = (
            LLMCallBody.objects.filter(
                call__run_id=self._run_id, call__request_hash=request_hash, call__outcome="ok"
            )
            .select_related("call")
            .order_by("-call_id")
            .first()
        )
        if kept is None or not isinstance(kept.response, str):
            return None
        call = kept.call
        path = str(call.parameters.get("path", ""))
        return reply_of_body(kept.response, path=path, endpoint=call.endpoint, model=call.model)

    def put(self, request_hash: str, reply: ChatReply) -> None:
        """Does nothing, because the ledger has the reply."""


def _replies(run: Run) -> ReplyCache:
    if run.use_cache:
        return CollectionReplyCache(collection_id=run.collection_id)
    return RunReplies(run_id=run.pk)


@dataclass(frozen=True, slots=True)
class EndpointTrouble:
    """An endpoint that does not answer: its name, the outcome of its last call, and since when."""

    endpoint: str
    outcome: str
    since: datetime


def endpoint_trouble() -> EndpointTrouble | None:
    """Whether an endpoint keeps failing, according to the ledger of all workers: its last ``TROUBLE_CALLS`` calls
    within ``TROUBLE_WINDOW``.

    For the banner about degraded runs. One query per endpoint, which reads the end of the ledger. None if all answer,
    none is configured, or none was called lately.
    """
    addresses = dict.fromkeys(endpoint.base_url for endpoint in model_endpoints())
    return next((trouble for address in addresses if (trouble := _trouble_at(address))), None)


def _trouble_at(address: str) -> EndpointTrouble | None:
    sent = LLMCall.objects.exclude(outcome__in=NOT_SENT).filter(endpoint=address[:200])
    is_recent = Q(created_at__gte=Now() - TROUBLE_WINDOW)
    last = list(
        sent.annotate(is_recent=is_recent)
        .order_by("-id")
        .values_list("outcome", "created_at", "is_recent")[:TROUBLE_CALLS]
    )
    failed = [outcome in ENDPOINT_FAILURES and recent for outcome, _at, recent in last]
    if len(last) < TROUBLE_CALLS or not all(failed):
        return None
    return EndpointTrouble(address, last[0][0], last[-1][1])
