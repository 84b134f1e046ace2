"""The strategies of this installation, and the engine's part of cache keys."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

import arbitration
from arbitration.settings import EngineSettings
from arbitration.strategies import base
from arbitration.strategies.registry import STRATEGIES
from workbench.collection_settings.bars import engine_changes
from workbench.documents.embedding import local_reranker_state
from workbench.documents.models import Collection
from workbench.errors import WorkbenchError

from .gateway import ModelChoice, cross_encoder_allowed, endpoint_allowed, endpoint_configured, model_choice
from .words import STRATEGY_WORDS


def strategy_for(*, collection: Collection, wanted: str = "") -> str:
    """The strategy to use: the requested one, else the collection's, else the installation's, else ``arbiter`` if the
    collection's text may go to a language model, otherwise ``offline``. Raises :class:`WorkbenchError` for an unknown
    name, or if it needs a model and none is configured."""
    fallback = "arbiter" if endpoint_configured() and endpoint_allowed(collection) else "offline"
    name = wanted or collection.default_strategy or settings.DEFAULT_STRATEGY or fallback
    if name not in STRATEGIES:
        raise WorkbenchError(
            _("There is no strategy “%(name)s”. Choose one of: %(names)s.")
            % {"name": name, "names": ", ".join(STRATEGIES)},
            code="strategy_unknown",
        )
    if needs_model(name) and collection.model_endpoint and model_choice(collection) is None:
        raise WorkbenchError(
            _(
                "This collection asks the model “%(model)s” of “%(endpoint)s”, which is not configured. Change it."
            )
            % {"model": collection.model_name, "endpoint": collection.model_endpoint},
            code="model_gone",
        )
    if needs_model(name) and not endpoint_configured():
        raise WorkbenchError(
            _("“%(name)s” needs a language model. Set OPENAI_API_KEY or OPENAI_BASE_URL, or use “offline”.")
            % {"name": name},
            code="strategy_needs_model",
        )
    return name


def needs_model(name: str) -> bool:
    """Whether the strategy cannot run without a language model."""
    return base.needs_model(STRATEGIES[name])


def may_ask_model(name: str) -> bool:
    """Whether a language model can influence the strategy's decisions on this installation."""
    return needs_model(name) or (base.asks_if_there_is_one(STRATEGIES[name]) and endpoint_configured())


def reads_gates(name: str) -> bool:
    """Whether the collection's thresholds influence the strategy's decisions."""
    return name in STRATEGIES and base.reads_gates(STRATEGIES[name])


def strategy_words(name: str) -> str:
    """What a strategy does, in words; its own description where there are none."""
    return str(STRATEGY_WORDS.get(name, STRATEGIES[name].description))


def strategy_choices() -> list[tuple[str, str]]:
    """(name, label) of the strategies that can run here."""
    return [
        (name, f"{name}: {strategy_words(name)}")
        for name in STRATEGIES
        if endpoint_configured() or not needs_model(name)
    ]


def strategy_groups() -> list[tuple[str, list[tuple[str, str]]]]:
    """The strategies that can run here, in words, grouped by requirements."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, strategy in STRATEGIES.items():
        if needs_model(name) and not endpoint_configured():
            continue
        if base.is_baseline(strategy):
            label = _("Baselines, for comparison")
        else:
            label = _("With a language model") if needs_model(name) else _("Without a language model")
        groups.setdefault(label, []).append((name, f"{name}: {strategy_words(name)}"))
    return list(groups.items())


def strategy_descriptions() -> list[dict[str, Any]]:
    """Every strategy with its description and whether it can run here."""
    return [
        {
            "name": name,
            "description": strategy_words(name),
            "available": endpoint_configured() or not needs_model(name),
        }
        for name in STRATEGIES
    ]


def engine_settings(
    *, collection: Collection, bars: Mapping[str, float | int] | None = None
) -> EngineSettings:
    """The engine's settings for a collection. ``bars`` are the changes by its risk thresholds, read if omitted."""
    changes = engine_changes(collection=collection) if bars is None else dict(bars)
    return EngineSettings(timeout_s=float(settings.LLM_TIMEOUT_SECONDS)).model_copy(update=changes)


def engine_state(*, strategy: str, collection: Collection) -> dict[str, str]:
    """The parts of the installation that affect an answer: the engine's code and prompts, and the collection's language
    model."""
    choice = model_choice(collection) if may_ask_model(strategy) else None
    crossed = local_reranker_state()
    if cross_encoder_allowed(collection):
        crossed = f"{settings.RERANK_BASE_URL} {settings.RERANK_MODEL}"
    return {
        "code": engine_digest(),
        "model": _model_state(choice, strategy) if choice else "",
    } | ({"cross_encoder": crossed} if crossed else {})


def _model_state(choice: ModelChoice, strategy: str) -> str:
    reasoning = choice.endpoint.reasoning_for(strategy)
    is_own = reasoning.tokens != settings.LLM_REASONING_TOKENS
    parts = (choice.name, reasoning.effort or "", f"{reasoning.tokens} tokens" if is_own else "")
    return " ".join(filter(None, parts))


@lru_cache(maxsize=1)
def engine_digest() -> str:
    """SHA-256 over the engine's source and prompts, so that a new release never uses cached answers of an old one."""
    root = Path(arbitration.__file__).parent
    digest = hashlib.sha256()
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.md")]):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
