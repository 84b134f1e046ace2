"""The simulated endpoint of the speed targets, and passages to judge: 300 ms + .05 ms per prompt token + 15 ms per
completion token, over real HTTP. No measurement itself; the token-latency ones share it."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from arbitration.adapters.endpoints import Endpoint, EndpointCapabilities, LedgerEntry
from arbitration.adapters.openai_chat import OpenAIChat
from arbitration.documents import ParsedDocument
from arbitration.pipeline import detect
from arbitration.pool import CandidatePool
from arbitration.settings import EngineSettings
from tests.arbitration.engine.makers import HashEmbedder, SectionText, make_document, make_store
from tests.fake_llm import FakeLLM, FakeRequest
from tests.fake_llm.wire import tokens

QUESTION = "How long are audit records kept?"
TOKENS_PER_PASSAGE = 200
_GOOD = re.compile(r"good-\d+")
_WORDS = [
    "ledger",
    "branch",
    "report",
    "clerk",
    "notice",
    "annex",
    "period",
    "deed",
    "seal",
    "office",
    "file",
]


@dataclass
class ListLedger:
    """Every attempt, in memory."""

    entries: list[LedgerEntry] = field(default_factory=list)

    def record(self, call: LedgerEntry) -> None:
        """Keeps it."""
        self.entries.append(call)


@dataclass
class Simulated:
    """The endpoint, a model at it, and the ledger of its calls."""

    fake: FakeLLM
    chat: OpenAIChat
    ledger: ListLedger


@contextmanager
def simulated_endpoint(behaviour: Callable[[FakeRequest], str]) -> Iterator[Simulated]:
    """The endpoint at its simulated pace, for the length of the block."""
    with FakeLLM() as fake:
        fake.behave(behaviour)
        fake.slow()
        able = EndpointCapabilities(json_schema=True, json_mode=True, logprobs=True)
        ledger = ListLedger()
        chat = OpenAIChat(
            Endpoint("simulated", fake.base_url, "fake-model", capabilities=able), ledger=ledger
        )
        try:
            yield Simulated(fake, chat, ledger)
        finally:
            chat.close()


def a_pool(passages: int) -> CandidatePool:
    """Passages of about 200 tokens; every second one deserves 5 or more, and says so in its last word."""
    rng = random.Random(7)
    sections = [SectionText(f"{n} Part", (_text(n, rng),)) for n in range(1, passages + 1)]
    document: ParsedDocument = make_document(*sections)
    embedder = HashEmbedder()
    pool = detect(
        question=QUESTION,
        store=make_store(document, embedder=embedder),
        embedder=embedder,
        settings=EngineSettings(top_k=500, anchor_words=400),
    )
    if len(pool.candidates) < passages:
        raise RuntimeError(f"{len(pool.candidates)} candidates were found in {passages} passages")
    return pool.model_copy(update={"candidates": pool.candidates[:passages]})


def _text(number: int, rng: random.Random) -> str:
    words = [f"Audit records of kind {number} are kept {number} years."]
    while len(tokens(" ".join(words))) < TOKENS_PER_PASSAGE - 4:
        words.append(rng.choice(_WORDS))
    return " ".join([*words, f"good-{number}" if number % 2 else f"poor-{number}"])


def graded(request: FakeRequest) -> dict[str, int]:
    """What a model says of each passage of a prompt: 8 for the good ones, 2 for the others."""
    parts = re.split(r"<<<DATA (id\d+) \w+>>>", request.user)[1:]
    return {name: 8 if _GOOD.search(text) else 2 for name, text in zip(parts[::2], parts[1::2], strict=True)}


def compact(request: FakeRequest) -> str:
    """Grades of 5 and above as the pointwise prompt asks for them."""
    kept = {name: grade for name, grade in graded(request).items() if grade >= 5}
    return json.dumps(kept, separators=(",", ":"))


def naive_listing(request: FakeRequest) -> str:
    """Every passage with its grade: ``[("id0", 6), ...]``."""
    return "[" + ", ".join(f'("{name}", {grade})' for name, grade in graded(request).items()) + "]"


def seconds_of(work: Callable[[], object]) -> float:
    """How long it takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
