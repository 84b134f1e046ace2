"""Text as PostgreSQL can hold it. Models and files say anything; what they say must not stop a worker."""

from __future__ import annotations

from typing import Any


def storable(text: str) -> str:
    """The text without what no column can hold: NUL, and halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "ignore").decode()


def storable_json(value: Any) -> Any:
    """The same for every text inside a JSON value, keys included."""
    match value:
        case str():
            return storable(value)
        case dict():
            return {storable_json(key): storable_json(item) for key, item in value.items()}
        case list() | tuple():
            return [storable_json(item) for item in value]
        case _:
            return value
