"""What prompts cost: the tokens of each strategy's calls over 40 passages, and how much of them an endpoint can cache.

Tokens are counted by the shipped encoder's own tokenizer (WordPiece); another model's differs by a tenth or so. A word
is at least one token of any, so that the words of the fixed part are a lower bound of what a cache is offered.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer

import arbitration.adapters
from arbitration.detection import detect
from arbitration.errors import LLMFailure
from arbitration.pool import CandidatePool
from arbitration.protocols import ChatRequest
from arbitration.settings import EngineSettings
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.registry import get_strategy
from tests.arbitration.engine.makers import FakeChat, SectionText, make_document, make_store
from tests.bench.registry import Figure, Size, measurement

PASSAGES = 40
#: Providers keep a beginning of so many tokens and more.
CACHED_FROM = 1024
QUESTION = "Within how many days are audit records returned to the branch that sent them?"
_MODEL = Path(arbitration.adapters.__file__).parent / "minilm" / "tokenizer.json"
_SUBJECTS = ("records", "ledgers", "notices", "deeds", "returns", "vouchers", "minutes", "plans")
_VERBS = (
    "are kept by",
    "are returned to",
    "are signed in",
    "are read out at",
    "are filed with",
    "are sent to",
)
_PLACES = ("the branch", "the registry", "the head office", "the board", "the archive", "the clerk on duty")
_ENDS = (
    "within thirty days of the day on which they were received",
    "unless the auditor asks for them in writing before the end of the quarter",
    "together with a list of what was added and by whom",
    "as the annex to this part lays down for each kind",
)


@dataclass(frozen=True, slots=True)
class CallSizes:
    """Tokens of a strategy's calls over the passages: ``calls`` of them, each with ``fixed`` tokens that are the same
    for every question, and ``read`` in all."""

    calls: int
    fixed: int
    fixed_words: int
    read: int

    @property
    def a_passage(self) -> float:
        """Tokens that one more passage costs, the fixed part aside."""
        return (self.read - self.calls * self.fixed) / PASSAGES


@measurement("prompts")
def measure(size: Size) -> Iterator[Figure]:
    """Tokens of 40 passages, by strategy."""
    passages = a_pool().candidates
    words = sum(len(candidate.anchor_text.split()) for candidate in passages) / len(passages)
    yield Figure("words of a passage, on average", words)
    for name, options in (
        ("arbiter", {}),
        ("arbiter, with hints", {"hints": True}),
        ("arbiter, all passages whole", {"whole": PASSAGES}),
        ("pointwise", {}),
        ("multi-criteria", {}),
    ):
        sizes = sizes_of(name.split(",")[0], options)
        yield Figure(f"{name}: calls", sizes.calls)
        is_cached = name.startswith("arbiter")
        yield Figure(
            f"{name}: fixed part",
            sizes.fixed,
            "tokens",
            CACHED_FROM if is_cached else None,
            "at least" if is_cached else None,
            f"{sizes.fixed_words} words",
        )
        yield Figure(f"{name}: read for 40 passages", sizes.read, "tokens")
        yield Figure(f"{name}: a passage", sizes.a_passage, "tokens")


def sizes_of(strategy: str, options: Mapping[str, object]) -> CallSizes:
    """The sizes of the calls that a strategy makes over the passages."""
    requests = _requests(strategy, options)
    fixed = {request.system for request in requests}
    if len(fixed) != 1:
        raise RuntimeError(f"{strategy} has {len(fixed)} fixed parts")
    (system,) = fixed
    read = sum(tokens_of(request.system) + tokens_of(request.user) for request in requests)
    return CallSizes(len(requests), tokens_of(system), len(system.split()), read)


def _requests(strategy: str, options: Mapping[str, object]) -> list[ChatRequest]:
    chat = FakeChat(lambda request: LLMFailure("refused", "only measured"))
    services = StrategyServices(chat=chat, options=options)
    get_strategy(strategy).decide(a_pool(), services=services)
    return chat.requests


def a_pool() -> CandidatePool:
    """Forty passages of a document with title, date and sections."""
    rng = random.Random(11)
    sections = [
        SectionText(f"{n}.{n % 7 + 1} {rng.choice(_SUBJECTS).title()} of the branches", _lines(rng, n))
        for n in range(1, PASSAGES + 1)
    ]
    pool = detect(
        question=QUESTION,
        store=make_store(make_document(*sections)),
        settings=EngineSettings(top_k=500, pool_size=500),
    )
    (document,) = pool.documents
    known = {"title": "Manual of the Branch Audit", "effective_date": "2024-03-01", "version_number": 2}
    return pool.model_copy(
        update={
            "candidates": pool.candidates[:PASSAGES],
            "documents": (document.model_copy(update=known),),
        }
    )


def _lines(rng: random.Random, number: int) -> tuple[str, ...]:
    lines = [f"Audit records of kind {number} are returned to the branch within {number} days."]
    while sum(len(line.split()) for line in lines) < 95:
        subject = f"The {rng.choice(_SUBJECTS)} of the {rng.choice(_SUBJECTS)} office"
        lines.append(f"{subject} {rng.choice(_VERBS)} {rng.choice(_PLACES)} {rng.choice(_ENDS)}.")
    rng.shuffle(lines)
    return tuple(lines)


def tokens_of(text: str) -> int:
    """The tokens of a text."""
    return len(_tokenizer().encode(text, add_special_tokens=False).ids)


@cache
def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(_MODEL))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
