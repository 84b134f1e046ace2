"""``arbiter`` over a pool of ten: what the product adds to the bare call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from statistics import median
from typing import Any

import httpx2

from arbitration.pipeline import arbitrate
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.registry import get_strategy
from tests.bench.registry import Figure, Size, measurement
from tests.bench.simulated import a_pool, seconds_of, simulated_endpoint
from tests.fake_llm import arbiter_keywords

ROUNDS = 5


@measurement("arbiter")
def measure(size: Size) -> Iterator[Figure]:
    """Arbitration and the bare call take turns; the overhead is the difference of their medians. The bare call is
    the same body, sent by a plain HTTP client over a connection that is open already."""
    pool = a_pool(10)
    ours, bare = [], []
    with (
        simulated_endpoint(lambda request: arbiter_keywords(request).text) as endpoint,
        httpx2.Client() as client,
    ):
        services = StrategyServices(chat=endpoint.chat)
        address = f"{endpoint.fake.base_url}/chat/completions"
        for _ in range(ROUNDS + 1):
            before = len(endpoint.ledger.entries)
            ours.append(
                seconds_of(lambda: arbitrate(pool=pool, strategy=get_strategy("arbiter"), services=services))
            )
            made = endpoint.ledger.entries[before:]
            if [call.outcome for call in made] != ["ok"]:
                raise RuntimeError(f"one call should have answered: {[call.outcome for call in made]}")
            bare.append(seconds_of(partial(_post, client, address, made[0].request_body)))
    # The first of each opens connections and reads prompts from files.
    overhead_ms = 1000 * (median(ours[1:]) - median(bare[1:]))
    beside = f"{1000 * median(bare[1:]):.0f} ms"
    yield Figure("overhead over the bare call", overhead_ms, "ms", 50.0, "at most", beside)


def _post(client: httpx2.Client, address: str, body: Mapping[str, Any]) -> None:
    client.post(address, json=dict(body), timeout=60).raise_for_status()
