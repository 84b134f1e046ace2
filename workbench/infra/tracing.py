"""Spans for a collector of OpenTelemetry, where ``OTEL_EXPORTER_OTLP_ENDPOINT`` names one and the extra ``otel`` is in.

Without a collector nothing of OpenTelemetry is imported here. What leaves the process is chosen by name
(:data:`KEPT`): the instrumentations of the libraries also note addresses with their search words, statements, and
messages of exceptions, in which text of documents and questions may stand, and none of that is sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, Tracer

logger = structlog.get_logger(__name__)

SERVICE = "arbiter-workbench"
#: Ids that log lines hold too (``request_id`` of a request, ``task_id`` and ``run_id`` of a task).
IDS = ("request_id", "task_id", "run_id")
#: The attributes that are sent. Each holds a name from code, a number, a state, or an id.
KEPT = frozenset({
    *(f"workbench.{name}" for name in (*IDS, "view", "outcome", "attempt")),
    "http.method", "http.request.method", "http.route", "http.status_code", "http.response.status_code",
    "http.scheme", "url.scheme", "http.flavor", "network.protocol.version", "error.type",
    "db.system", "db.system.name", "db.operation", "db.operation.name",
    "celery.action", "celery.state", "celery.task_name", "messaging.message.id",
    "server.address", "gen_ai.request.model", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens",
})  # fmt: skip
LONGEST_NAME = 200
#: Asked every few seconds by machines.
NOT_TRACED = "healthz,readyz,metrics"


@dataclass
class Tracing:
    """What was switched on in this process."""

    provider: TracerProvider
    tracer: Tracer
    instruments: list[Any] = field(default_factory=list)

    def stop(self) -> None:
        """Takes the instruments out again and sends what is left."""
        global _tracing
        for instrument in self.instruments:
            instrument.uninstrument()
        self.provider.shutdown()
        _tracing = None


_tracing: Tracing | None = None


def start_tracing(*, exporter: SpanExporter | None = None) -> Tracing | None:
    """Switches tracing on for this process: web, before its middlewares are loaded; a worker's child, when it starts.

    None where no collector is named or the packages are missing, which is logged. ``exporter`` is another way out than
    to the collector, for tests.
    """
    global _tracing
    if _tracing is not None or not (exporter or settings.OTEL_EXPORTER_OTLP_ENDPOINT):
        return _tracing
    try:
        provider = _provider(exporter)
    except ImportError as error:
        logger.warning("tracing.not_installed", missing=error.name, hint="install the extra otel")
        return None
    _tracing = Tracing(provider, provider.get_tracer(SERVICE))
    for name in ("django", "celery", "psycopg"):
        instrument = _instrument(name, provider)
        if instrument is not None:
            _tracing.instruments.append(instrument)
    return _tracing


def _provider(exporter: SpanExporter | None) -> TracerProvider:
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win over the name given here.
    named = Resource({SERVICE_NAME: SERVICE}).merge(_from_environment())
    provider = TracerProvider(resource=named)
    provider.add_span_processor(_with_ids())
    if exporter is not None:
        provider.add_span_processor(SimpleSpanProcessor(_only_kept(exporter)))
        return provider
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    provider.add_span_processor(BatchSpanProcessor(_only_kept(OTLPSpanExporter())))
    return provider


def _from_environment() -> Any:
    from opentelemetry.sdk.resources import OTELResourceDetector

    return OTELResourceDetector().detect()


def _instrument(name: str, provider: TracerProvider) -> Any | None:
    options: dict[str, Any] = {"tracer_provider": provider}
    try:
        if name == "django":
            from opentelemetry.instrumentation.django import DjangoInstrumentor as Instrument

            options |= {"excluded_urls": NOT_TRACED, "response_hook": _name_request}
        elif name == "celery":
            from opentelemetry.instrumentation.celery import CeleryInstrumentor as Instrument
        else:
            from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor as Instrument
    except ImportError as error:
        logger.warning("tracing.not_installed", missing=error.name, hint="install the extra otel")
        return None
    instrument = Instrument()
    instrument.instrument(**options)
    return instrument


def _name_request(span: Span, request: HttpRequest, response: HttpResponse) -> None:
    """The id that log lines and people quote, and the view."""
    if not span or not span.is_recording():
        return
    if "X-Request-Id" in response:
        span.set_attribute("workbench.request_id", response["X-Request-Id"])
    if request.resolver_match:
        span.set_attribute("workbench.view", request.resolver_match.view_name)


# --- ids in spans, spans in log lines ---------------------------------------------------------------------------


def _with_ids() -> Any:
    from opentelemetry.sdk.trace import SpanProcessor

    class WithIds(SpanProcessor):
        """Gives each new span the ids that log lines of its thread hold."""

        def on_start(self, span: Any, parent_context: Context | None = None) -> None:
            bound = structlog.contextvars.get_contextvars()
            for name in IDS:
                if name in bound:
                    span.set_attribute(f"workbench.{name}", str(bound[name]))

    return WithIds()


def add_trace_ids(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """For structlog: the ids of the trace in each log line, as OpenTelemetry writes them, while tracing is on."""
    if _tracing is None:
        return event
    from opentelemetry import trace

    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        event["trace_id"] = trace.format_trace_id(context.trace_id)
        event["span_id"] = trace.format_span_id(context.span_id)
    return event


def here() -> Context | None:
    """Where in the trace this thread is, to be given to another thread; None while tracing is off."""
    if _tracing is None:
        return None
    from opentelemetry import context

    return context.get_current()


def span_of_call(*, within: Context | None, seconds: float, attributes: dict[str, Any]) -> None:
    """A span for a call of a language model that has just ended."""
    if _tracing is None:
        return
    now = time.time_ns()
    span = _tracing.tracer.start_span(
        "llm call", context=within, start_time=now - int(seconds * 1e9), attributes=attributes
    )
    span.end(now)


# --- what leaves the process ------------------------------------------------------------------------------------


def _only_kept(exporter: SpanExporter) -> SpanExporter:
    """Sends spans without what is not in :data:`KEPT`."""
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    class OnlyKept(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            return exporter.export([kept(span) for span in spans])

        def shutdown(self) -> None:
            exporter.shutdown()

        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            return exporter.force_flush(timeout_millis)

    kept = _stripping()
    return OnlyKept()


def _stripping() -> Callable[[ReadableSpan], ReadableSpan]:
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.trace import Link, SpanContext, Status

    def bare(context: SpanContext | None) -> SpanContext | None:
        """Without the state that a caller may have sent along."""
        if context is None:
            return None
        return SpanContext(context.trace_id, context.span_id, context.is_remote, context.trace_flags)

    def event(given: Event) -> Event:
        kind = (given.attributes or {}).get("exception.type")
        return Event(given.name, {"exception.type": kind} if kind else {}, given.timestamp)

    def kept(span: ReadableSpan) -> ReadableSpan:
        attributes = {name: value for name, value in (span.attributes or {}).items() if name in KEPT}
        return ReadableSpan(
            name=span.name[:LONGEST_NAME],
            context=bare(span.context),
            parent=bare(span.parent),
            resource=span.resource,
            attributes=attributes,
            events=[event(given) for given in span.events],
            links=[Link(found) for link in span.links if (found := bare(link.context))],
            kind=span.kind,
            status=Status(span.status.status_code),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )

    return kept
