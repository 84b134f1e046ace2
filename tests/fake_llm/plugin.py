"""The fixture: ``pytest_plugins = ["tests.fake_llm.plugin"]`` in a test module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fake_llm.server import FakeLLM


@pytest.fixture(scope="session")
def fake_llm_server() -> Iterator[FakeLLM]:
    """One server per test process."""
    with FakeLLM() as fake:
        yield fake


@pytest.fixture
def fake_llm(fake_llm_server: FakeLLM) -> Iterator[FakeLLM]:
    """The server with a clean script. A behaviour that raises fails the test."""
    fake_llm_server.reset()
    yield fake_llm_server
    crashes = fake_llm_server.script.crashes
    fake_llm_server.reset()
    assert not crashes, f"a behaviour of the fake server failed:\n{crashes[0]}"
