"""The front door for programs: documents in, questions answered with roles and reasons.

    arbiter = Arbiter.from_files("contract.pdf", "amendment.docx")
    finding = arbiter.ask("How long are records kept?")

It runs what the product runs: the isolated parsers, the same detectors, the shipped encoder, the estimate that ranks
offline, every strategy. Nothing leaves the machine unless an endpoint is given and a strategy that asks one is chosen.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from arbitration.adapters.endpoints import Endpoint
from arbitration.adapters.onnx_embedder import default_embedder
from arbitration.adapters.openai_chat import OpenAIChat
from arbitration.adapters.probe import probe
from arbitration.documents import ParsedDocument
from arbitration.errors import (
    ArbitrationError,
    LLMFailure,
    ParseFailure,
    PasswordRequired,
    StrategyUnavailable,
)
from arbitration.features import pool_features
from arbitration.memory import InMemoryStore, StoredDocument
from arbitration.parsing.isolation import parse_isolated
from arbitration.parsing.limits import ParseLimits
from arbitration.pipeline import arbitrate, assemble, detect
from arbitration.protocols import CandidateStore, ChatModel, Embedder, Scorer
from arbitration.questions.dictionary import Dictionary
from arbitration.results import Finding, finding_of
from arbitration.settings import EngineSettings
from arbitration.strategies.base import (
    Requirement,
    Strategy,
    StrategyServices,
    asks_if_there_is_one,
    needs_model,
)
from arbitration.strategies.registry import STRATEGIES, get_strategy
from arbitration.written_answers import answer_with_model

FilePath = str | os.PathLike[str]
#: The encoder that comes with the package, or none: then only words are searched.
EmbedderChoice = Embedder | Literal["shipped", "none"]

_HOW_TO_GET: dict[Requirement, str] = {
    "chat": "a language model: give Arbiter an endpoint",
    "logprobs": "a language model that returns log-probabilities: give Arbiter the endpoint of one",
    "scorer": "a trained reranker: give Arbiter a scorer",
    "embedder": 'an encoder: leave out embedder="none"',
}


class Arbiter:
    """Answers questions from one set of documents. Threads may share it; close it, or use it as a context manager,
    where it has an endpoint."""

    def __init__(
        self,
        store: CandidateStore,
        *,
        embedder: Embedder | None = None,
        endpoint: Endpoint | None = None,
        scorer: Scorer | None = None,
        settings: EngineSettings | None = None,
        dictionary: Dictionary | None = None,
    ) -> None:
        """``store`` holds the documents: an :class:`~arbitration.memory.InMemoryStore`, or any other that answers the
        queries of :class:`~arbitration.protocols.CandidateStore`. Its vectors and ``embedder`` are of one space.

        ``endpoint``: an OpenAI-compatible model for the strategies that ask one. ``scorer``: a reranker of your own,
        such as ``training.scorer`` opens; without it the estimate that ships ranks. ``dictionary``: variants of words.
        """
        self._store = store
        self._embedder = embedder
        self._endpoint = endpoint
        self._scorer = scorer
        self._settings = settings or EngineSettings()
        self._dictionary = dictionary
        self._chat: ChatModel | None = None

    @classmethod
    def from_files(
        cls,
        *paths: FilePath | Iterable[FilePath],
        passwords: Mapping[str, str] | None = None,
        embedder: EmbedderChoice = "shipped",
        limits: ParseLimits | None = None,
        **options: Any,
    ) -> Arbiter:
        """Read files, named one by one or as a list, each in a process of its own with limits, and hold them in memory.

        PDF (scans too), DOCX, HTML, EML, Markdown, plain text. ``passwords`` by file name. ``options`` are those of
        the constructor. Raises :class:`~arbitration.errors.ParseFailure`, which names the file and says what to do.
        """
        files = [
            path for given in paths for path in ([given] if isinstance(given, str | os.PathLike) else given)
        ]
        if not files:
            raise ValueError('Name at least one file: Arbiter.from_files("contract.pdf")')
        documents = [
            StoredDocument(
                document_id=f"d{number}",
                name=Path(path).name,
                parsed=read_file(path, password=(passwords or {}).get(Path(path).name), limits=limits),
            )
            for number, path in enumerate(files, start=1)
        ]
        return cls.from_documents(documents, embedder=embedder, **options)

    @classmethod
    def from_documents(
        cls, documents: Iterable[StoredDocument], *, embedder: EmbedderChoice = "shipped", **options: Any
    ) -> Arbiter:
        """Hold documents in memory that are parsed already, such as by :func:`read_file`."""
        encoder = chosen_embedder(embedder)
        store = InMemoryStore(list(documents), embedder=encoder)
        store.prepare()
        return cls(store, embedder=encoder, **options)

    @staticmethod
    def strategies() -> dict[str, str]:
        """Every strategy by name, with one line on what it does."""
        return {name: strategy.description for name, strategy in STRATEGIES.items()}

    def ask(
        self, question: str, *, strategy: str = "offline", options: Mapping[str, object] | None = None
    ) -> Finding:
        """Ask one question. ``options`` are the strategy's own settings (docs/strategies.md).

        Raises :class:`~arbitration.errors.StrategyUnavailable` for a strategy that is unknown or lacks something, and
        ``ValueError`` for an empty question. A model that fails raises nothing: the finding says so.
        """
        chosen = get_strategy(strategy)
        chat = self._model_for(chosen)
        services = StrategyServices(
            chat=chat,
            scorer=self._scorer,
            feature_rows=pool_features,
            store=self._store,
            options=options or {},
        )
        pool = detect(
            question=question,
            store=self._store,
            embedder=self._embedder,
            settings=self._settings,
            dictionary=self._dictionary,
            chat=chat,
        )
        decision = arbitrate(pool=pool, strategy=chosen, services=services)
        _, audit = assemble(pool=pool, decision=decision)
        answer = answer_with_model(pool=pool, decision=decision, services=services)
        return finding_of(pool=pool, decision=decision, answer=answer, audit=audit)

    def close(self) -> None:
        """Close the connections to the endpoint."""
        close = getattr(self._chat, "close", None)
        if close is not None:
            close()
        self._chat = None

    def __enter__(self) -> Arbiter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _model_for(self, strategy: Strategy) -> ChatModel | None:
        """The model, for a strategy that asks one; with any other nothing is sent anywhere."""
        has: dict[Requirement, object] = {
            "chat": self._endpoint,
            "logprobs": self._endpoint,
            "scorer": self._scorer,
            "embedder": self._embedder,
        }
        missing = [need for need in strategy.requires if has[need] is None]
        if missing:
            needs = " and ".join(_HOW_TO_GET[need] for need in missing)
            raise StrategyUnavailable(
                f"Strategy '{strategy.name}' needs {needs}. Without: strategy=\"offline\"."
            )
        if self._endpoint is None or not (needs_model(strategy) or asks_if_there_is_one(strategy)):
            return None
        if self._chat is None:
            self._chat = open_endpoint(self._endpoint)
        return self._chat


def read_file(
    path: FilePath, *, password: str | None = None, limits: ParseLimits | None = None
) -> ParsedDocument:
    """One file as lines, pages, sections and passages, parsed in a process of its own.

    Raises :class:`~arbitration.errors.ParseFailure`, whose message begins with the file's name.
    """
    path = Path(path)
    if not path.is_file():
        what = "is a folder; name the files in it" if path.is_dir() else "does not exist; check the path"
        raise ParseFailure("missing", f"{path} {what}.")
    try:
        return parse_isolated(path=path, filename=path.name, password=password, limits=limits)
    except PasswordRequired as failure:
        hint = f'Give its password: passwords={{"{path.name}": "..."}}'
        raise PasswordRequired(failure.code, f"{path.name}: {failure.message} {hint}") from failure
    except ParseFailure as failure:
        raise ParseFailure(failure.code, f"{path.name}: {failure.message}") from failure


def chosen_embedder(choice: EmbedderChoice) -> Embedder | None:
    """The encoder that is meant. Raises :class:`~arbitration.errors.ArbitrationError` for an unknown name."""
    if choice == "none":
        return None
    if not isinstance(choice, str):
        return choice
    if choice != "shipped":
        raise ArbitrationError(f'There is no embedder \'{choice}\'; use "shipped", "none" or an object.')
    return default_embedder()


def open_endpoint(endpoint: Endpoint) -> ChatModel:
    """The endpoint's model. One whose capabilities are not given is asked first what it can do, by some tiny calls.

    Raises :class:`~arbitration.errors.StrategyUnavailable` where that is impossible.
    """
    if endpoint.capabilities is None:
        try:
            endpoint = replace(endpoint, capabilities=probe(endpoint))
        except LLMFailure as failure:
            raise StrategyUnavailable(
                f"The endpoint {endpoint.base_url} does not answer as it should ({failure.outcome}: "
                f"{failure.message}). Check base_url, model and api_key."
            ) from failure
    return OpenAIChat(endpoint)
