"""Language models beside the one of OPENAI_BASE_URL: where they answer, and which variable holds the key.

MODEL_ENDPOINTS is JSON, or MODEL_ENDPOINTS_FILE names a file of it: a list of objects with ``name``, ``base_url``,
``models`` (the first is the default), and, where they apply, ``key`` (the name of a variable that holds the key as
itself or, with ``_FILE``, as a file) and ``is_local`` (the model costs nothing a call). A key itself never stands here.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from workbench.infra.model_endpoints import ModelEndpoint

from . import env

_KNOWN = {"name", "base_url", "models", "key", "is_local"}
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,79}")
MOST_ENDPOINTS = 20


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
        name, address, tuple(dict.fromkeys(models)), _key(entry.get("key", ""), place), is_local
    )


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
