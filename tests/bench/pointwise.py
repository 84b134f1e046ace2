"""``pointwise``, K = 40, N = 4, against one naive listwise call of the same passages and against its slowest shard."""

from __future__ import annotations

from collections.abc import Iterator

from arbitration.pool import CandidatePool
from arbitration.prompting import fence, load_prompt
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.pointwise import PROMPT
from arbitration.strategies.registry import get_strategy
from tests.bench.registry import Figure, Size, measurement
from tests.bench.simulated import (
    QUESTION,
    Simulated,
    a_pool,
    compact,
    naive_listing,
    seconds_of,
    simulated_endpoint,
)

K, N = 40, 4


@measurement("pointwise")
def measure(size: Size) -> Iterator[Figure]:
    """Speed and output tokens, best of three."""
    pool = a_pool(K)
    with simulated_endpoint(naive_listing) as endpoint:
        naive_s = min(seconds_of(lambda: _naive(pool, endpoint)) for _ in range(2))
        naive_tokens = endpoint.ledger.entries[-1].output_tokens
    with simulated_endpoint(compact) as endpoint:
        runs = [_run(pool, endpoint) for _ in range(3)]
    seconds, slowest_s, used = min(runs)
    yield Figure(
        "speed-up over one naive listwise call", naive_s / seconds, "x", 5.0, "at least", f"{naive_s:.2f} s"
    )
    yield Figure(
        "time over the slowest shard", seconds / slowest_s, "x", 1.2, "at most", f"{slowest_s:.2f} s"
    )
    yield Figure(
        "output tokens saved",
        100 * (1 - used / naive_tokens),
        "%",
        60.0,
        "at least",
        f"{naive_tokens} tokens",
    )
    yield Figure("time of the strategy", seconds, "s")


def _run(pool: CandidatePool, endpoint: Simulated) -> tuple[float, float, int]:
    """Seconds of the whole, seconds of the slowest shard, output tokens of all shards."""
    before = len(endpoint.ledger.entries)
    services = StrategyServices(chat=endpoint.chat, options={"k": K, "n": N})
    seconds = seconds_of(lambda: get_strategy("pointwise").decide(pool, services=services))
    shards = endpoint.ledger.entries[before:]
    if [shard.outcome for shard in shards] != ["ok"] * N:
        raise RuntimeError(f"{N} shards should have answered: {[shard.outcome for shard in shards]}")
    return seconds, max(shard.latency_ms for shard in shards) / 1000, sum(s.output_tokens for s in shards)


def _naive(pool: CandidatePool, endpoint: Simulated) -> None:
    """One call over all passages, which lists every grade."""
    prompt = load_prompt(PROMPT).render(
        question=QUESTION,
        passages=[
            {"id": f"id{n}", "facts": "", "text": fence(c.anchor_text, label=f"id{n}")}
            for n, c in enumerate(pool.candidates)
        ],
    )
    endpoint.chat.complete(prompt.request(max_output_tokens=4096, timeout_s=120.0, stage="arbitrate"))
