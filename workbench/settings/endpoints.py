"""Language models beside the one of OPENAI_BASE_URL: where they answer, and which variable holds the key.

MODEL_ENDPOINTS is JSON, or MODEL_ENDPOINTS_FILE names a file of it: a list of objects with ``name``, ``base_url``,
``models`` (the first is the default), and, where they apply, ``key`` (the name of a variable that holds the key as
itself or, with ``_FILE``, as a file), ``is_local`` (the model costs nothing a call) and ``reasoning`` (see
:func:`reasoning`). A key itself never stands here.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from arbitration.strategies.registry import STRATEGIES
from workbench.infra.model_endpoints import ModelEndpoint, Reasoning

from . import env

_KNOWN = {"name", "base_url", "models", "key", "is_local", "reasoning"}
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,79}")
MOST_ENDPOINTS = 20
REASONING_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
MOST_REASONING_TOKENS = 1_000_000


VARIABLE = "MODEL_ENDPOINTS"


def endpoints(raw: str) -> tuple[ModelEndpoint, ...]:
    """The variable's value as endpoints, each name once. Raises ``ImproperlyConfigured`` saying what is wrong."""
    if not raw:
        return ()
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ImproperlyConfigured(f"{VARIABLE} is not JSON: {error}") from error
    if not isinstance(given, list) or len(given) > MOST_ENDPOINTS:
        raise ImproperlyConfigured(f"{VARIABLE} must be a list of at most {MOST_ENDPOINTS} endpoints.")
    found = tuple(_endpoint(entry, f"{VARIABLE}[{place}]") for place, entry in enumerate(given))
    if len({endpoint.name for endpoint in found} | {"default"}) <= len(found):
        raise ImproperlyConfigured(f"{VARIABLE}: give each endpoint a name of its own; “default” is taken.")
    return found


def _endpoint(entry: Any, place: str) -> ModelEndpoint:
    if not isinstance(entry, dict):
        raise ImproperlyConfigured(f"{place} must be an object.")
    unknown = sorted(set(entry) - _KNOWN)
    if unknown:
        raise ImproperlyConfigured(
            f"{place} has unknown fields: {', '.join(unknown)}. Name the variable that holds a key in “key”."
        )
    name, address, models = entry.get("name"), entry.get("base_url"), entry.get("models")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ImproperlyConfigured(f"{place}: “name” is made of small letters, digits and hyphens.")
    if not isinstance(address, str) or not _is_address(address):
        raise ImproperlyConfigured(f"{place}: “base_url” is an address such as https://host/v1.")
    if not isinstance(models, list) or not models or not all(map(_is_model, models)):
        raise ImproperlyConfigured(f"{place}: “models” lists at least one model.")
    is_local = entry.get("is_local")
    if is_local not in (None, True, False):
        raise ImproperlyConfigured(f"{place}: “is_local” is true or false.")
    return ModelEndpoint(
        name,
        address,
        tuple(dict.fromkeys(models)),
        _key(entry.get("key", ""), place),
        is_local,
        reasoning(entry.get("reasoning", {}), f"{place}: “reasoning”"),
    )


def reasoning_of_all(raw: str) -> dict[str, Reasoning]:
    """LLM_REASONING: what is set by strategy for the endpoint of OPENAI_BASE_URL, as JSON."""
    try:
        given = json.loads(raw) if raw else {}
    except (ValueError, RecursionError) as error:
        raise ImproperlyConfigured(f"LLM_REASONING is not JSON: {error}") from error
    return reasoning(given, "LLM_REASONING")


def reasoning(given: Any, place: str) -> dict[str, Reasoning]:
    """By the name of a strategy, or "default" for all others: ``effort`` and ``tokens``, either of them or both."""
    if not isinstance(given, dict) or not all(isinstance(entry, dict) for entry in given.values()):
        raise ImproperlyConfigured(f'{place} is an object such as {{"arbiter": {{"effort": "high"}}}}.')
    unknown = sorted(set(given) - {"default", *STRATEGIES})
    if unknown:
        raise ImproperlyConfigured(f"{place} names no strategy: {', '.join(unknown)}.")
    return {name: _reasoning(entry, f"{place} of {name}") for name, entry in given.items()}


def _reasoning(entry: dict[str, Any], place: str) -> Reasoning:
    effort, tokens = entry.get("effort"), entry.get("tokens")
    if set(entry) - {"effort", "tokens"} or not entry:
        raise ImproperlyConfigured(f"{place} has “effort”, “tokens” or both, and nothing else.")
    if effort is not None and effort not in REASONING_EFFORTS:
        raise ImproperlyConfigured(f"{place}: “effort” is one of {', '.join(REASONING_EFFORTS)}.")
    is_number = isinstance(tokens, int) and not isinstance(tokens, bool)
    if tokens is not None and not (is_number and 0 <= tokens <= MOST_REASONING_TOKENS):
        raise ImproperlyConfigured(f"{place}: “tokens” is a number up to {MOST_REASONING_TOKENS:,}.")
    return Reasoning(effort, tokens)


def _key(variable: Any, place: str) -> str:
    if variable == "":
        return ""
    if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
        raise ImproperlyConfigured(f"{place}: “key” is the name of a variable, not the key itself.")
    value = env.text(variable)
    if not value:
        raise ImproperlyConfigured(f"{place}: {variable} is not set.")
    return value


def _is_address(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and len(address) <= 200


def _is_model(name: Any) -> bool:
    return isinstance(name, str) and 0 < len(name.strip()) == len(name) <= 120
