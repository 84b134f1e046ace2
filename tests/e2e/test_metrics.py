"""Figures of the running product: its web processes and its worker count together."""

from __future__ import annotations

import httpx2 as httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.conftest import METRICS_TOKEN
from tests.product import RunningProduct, eventually


def figures(product: RunningProduct) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every line of the page by name and labels."""
    headers = {"Authorization": f"Bearer {METRICS_TOKEN}"}
    page = httpx.get(f"{product.address}/metrics", headers=headers, timeout=120)
    assert page.status_code == 200, page.text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(page.text)
        for sample in family.samples
    }


def test_all_processes_count_together(product: RunningProduct) -> None:
    looked = ("workbench_http_requests_total", (("method", "GET"), ("status", "200"), ("view", "healthz")))
    before = figures(product).get(looked, 0)
    for _ in range(12):  # a connection each, so that both processes answer some
        assert httpx.get(f"{product.address}/healthz", timeout=120).status_code == 200
    assert figures(product)[looked] == before + 12, "whichever process is asked"

    read = ("workbench_tasks_total", (("outcome", "success"), ("task", "documents.ingest")))
    eventually(lambda: figures(product).get(read, 0) > 0, what="the worker has read the demo documents")
    found = figures(product)
    assert found["workbench_queue_messages", (("queue", "ingest"),)] >= 0
    failed = [
        labels for (name, labels), value in found.items() if name == "workbench_metrics_failed" and value
    ]
    assert failed == []
    folder = product.home.run / "metrics"
    assert len({path.stem.rpartition("_")[2] for path in folder.glob("counter_*.db")}) >= 3
    assert httpx.get(f"{product.address}/metrics", timeout=120).status_code == 401
