"""What monitoring learns of a call of a language model: names, numbers and how it ended, never what was said."""

from __future__ import annotations

from arbitration.adapters.breaker import CircuitBreaker
from arbitration.adapters.endpoints import LedgerEntry

from .metrics import counters

#: Outcomes of attempts that were refused here, before anything was sent.
NOT_SENT = frozenset({"budget", "stopped", "not_allowed", "circuit_open"})


def observe_call(call: LedgerEntry, *, breaker: CircuitBreaker | None, run_id: int | None) -> None:
    """Counts an attempt that stands in the ledger, and notes whether its circuit is open in this process."""
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
