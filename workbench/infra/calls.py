"""What monitoring learns of a call of a language model: names, numbers and how it ended, never what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arbitration.adapters.breaker import CircuitBreaker
from arbitration.adapters.endpoints import LedgerEntry

from .metrics import counters
from .tracing import span_of_call

if TYPE_CHECKING:
    from opentelemetry.context import Context

#: Outcomes of attempts that were refused here, before anything was sent.
NOT_SENT = frozenset({"budget", "stopped", "not_allowed", "circuit_open"})


def observe_call(
    call: LedgerEntry,
    *,
    breaker: CircuitBreaker | None = None,
    run_id: int | None = None,
    trace: Context | None = None,
) -> None:
    """Counts an attempt that stands in the ledger, notes whether its circuit is open in this process, and makes a span
    of it where ``trace`` says that its caller was (calls wait in threads of their own)."""
    counters.call_ended(
        endpoint=call.endpoint,
        model=call.model,
        outcome=call.outcome,
        was_sent=call.outcome not in NOT_SENT,
        seconds=call.latency_ms / 1000,
        tokens={
            "input": call.input_tokens,
            "cached": min(call.cached_tokens, call.input_tokens),
            "output": call.output_tokens,
        },
        cost=call.cost,
    )
    if breaker is not None:
        counters.circuit_is(endpoint=call.endpoint, model=call.model, is_open=breaker.is_open)
    span_of_call(
        within=trace,
        seconds=call.latency_ms / 1000,
        attributes={
            "server.address": counters.host_of(call.endpoint),
            "gen_ai.request.model": call.model,
            "gen_ai.usage.input_tokens": call.input_tokens,
            "gen_ai.usage.output_tokens": call.output_tokens,
            "workbench.outcome": call.outcome,
            "workbench.attempt": call.attempt,
            **({"workbench.run_id": str(run_id)} if run_id else {}),
        },
    )
