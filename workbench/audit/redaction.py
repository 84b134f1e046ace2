"""What may stand in the trail: ids, hashes and decisions. Long text is replaced by its hash and length."""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any

#: Longest string that is kept as it is, in characters.
MAX_STRING = 500
#: Largest JSON value that is kept as it is, in characters: many short strings are text as well.
MAX_JSON = 16_384


def redacted(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A JSON object that PostgreSQL takes and that holds no document text.

    A string of more than ``MAX_STRING`` characters becomes ``{"sha256": ..., "length": ...}``, and so does
    a whole value of more than ``MAX_JSON``. Dates, decimals, UUIDs and enums become strings, sets become
    sorted lists. Raises :class:`TypeError` for anything else that is not JSON, such as a model instance.
    """
    if value is None:
        return None
    clean = {_text(str(key))[:MAX_STRING]: _clean(item) for key, item in value.items()}
    encoded = json.dumps(clean, sort_keys=True)
    return digest_of(encoded) if len(encoded) > MAX_JSON else clean


def redacted_reason(reason: str) -> str:
    """A person's words as they are, or the hash and length of a text too long to be a reason."""
    reason = _text(reason.strip())
    if len(reason) <= MAX_STRING:
        return reason
    digest = digest_of(reason)
    return f"sha256:{digest['sha256']} ({digest['length']} characters)"


def _clean(value: Any) -> Any:
    if isinstance(value, Enum):
        return _clean(value.value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        text = _text(value)
        return text if len(text) <= MAX_STRING else digest_of(text)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | uuid.UUID):
        return str(value)
    return _clean_container(value)


def _clean_container(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_text(str(key))[:MAX_STRING]: _clean(item) for key, item in value.items()}
    if isinstance(value, AbstractSet):
        return sorted((_clean(item) for item in value), key=str)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [_clean(item) for item in value]
    raise TypeError(
        f"The trail holds JSON values; give the id or hash of the {type(value).__name__} instead."
    )


def digest_of(text: str) -> dict[str, Any]:
    """A text that the trail must not hold, as hash and length."""
    return {"sha256": hashlib.sha256(text.encode("utf-8")).hexdigest(), "length": len(text)}


def _text(text: str) -> str:
    # PostgreSQL stores neither NUL nor half a surrogate pair.
    return text.replace("\x00", "�").encode("utf-8", "replace").decode("utf-8")
