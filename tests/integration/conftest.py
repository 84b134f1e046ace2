"""One running product for all integration tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.product import RunningProduct, eventually, running_product

DEMO = "demo"


@pytest.fixture(scope="session")
def product() -> Iterator[RunningProduct]:
    """The product with its demo documents ready."""
    with running_product({"DJANGO_SETTINGS_MODULE": "tests.integration.dev"}) as running:
        eventually(lambda: _demo_is_ready(running), seconds=240, what="the demo documents are ready")
        yield running


def _demo_is_ready(product: RunningProduct) -> bool:
    rows = product.rows("SELECT status, failure_reason FROM documents_document")
    failed = [reason for status, reason in rows if status == "failed"]
    assert not failed, failed
    return bool(rows) and all(status == "ready" for status, _ in rows)
