"""What becomes of the pairs: whether the rule in force is primary and first, and the other one shown as replaced."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from arbitration.adapters.onnx_embedder import default_embedder
from arbitration.contracts import RetrievedCandidate, Role
from arbitration.documents import ParsedDocument
from arbitration.memory import InMemoryStore, StoredDocument
from arbitration.parsing.drafts import to_wire
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.registry import parse_here
from arbitration.pipeline import Asked, ask
from arbitration.precedence.settle import precedence_of
from arbitration.settings import EngineSettings
from tests.arbitration.precedence.pairs import Pair, Text


@dataclass(frozen=True, slots=True)
class Outcome:
    """``is_first``: the rule in force is primary and before all others. ``is_shown``: the other rule is kept as
    supporting, and its reason says that it is replaced, by the rule in force."""

    key: str
    kind: str
    is_first: bool
    is_shown: bool
    told: str


def outcomes(pairs: Iterable[Pair], settings: EngineSettings | None = None) -> list[Outcome]:
    """One outcome for each pair, under ``offline`` with nothing trained."""
    return [_outcome(pair, asked(pair, settings)) for pair in pairs]


def asked(pair: Pair, settings: EngineSettings | None = None) -> Asked:
    """The pair's question asked of its documents."""
    stored = [
        StoredDocument(f"d{number}", text.name, _parsed(text))
        for number, text in enumerate(pair.documents, start=1)
    ]
    embedder = default_embedder()
    store = InMemoryStore(stored, embedder=embedder)
    return ask(question=pair.question, store=store, embedder=embedder, settings=settings)


@cache
def _parsed(text: Text) -> ParsedDocument:
    with tempfile.NamedTemporaryFile(suffix=Path(text.name).suffix) as file:
        file.write(text.text.encode())
        file.flush()
        draft = parse_here(Path(file.name), filename=text.name, limits=ParseLimits())
    return ParsedDocument.model_validate_json(to_wire(draft))


def _outcome(pair: Pair, found: Asked) -> Outcome:
    candidates = found.result.candidates
    first = candidates[0] if candidates else None
    replaced = next((c for c in candidates if _holds(c, pair.replaced, found)), None)
    pairs_used = precedence_of(found.decision.artefacts)
    is_told = replaced is not None and any(
        used.replaced_id == replaced.candidate_id and used.reason in (replaced.reason or "")
        for used in pairs_used
    )
    return Outcome(
        key=pair.key,
        kind=pair.kind,
        is_first=first is not None and first.role is Role.PRIMARY and _holds(first, pair.in_force, found),
        is_shown=is_told and replaced is not None and replaced.role is Role.SUPPORTING,
        told=(replaced.reason or "") if replaced else "",
    )


def _holds(candidate: RetrievedCandidate, quoted: str, found: Asked) -> bool:
    own = found.pool.candidate(candidate.candidate_id)
    return own is not None and " ".join(quoted.split()) in " ".join(own.anchor_text.split())
