"""Before and after, as a person reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _


@dataclass(frozen=True, slots=True)
class Change:
    """One field that changed; None where the field did not exist."""

    field: str
    before: str | None
    after: str | None


def changes_of(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[Change]:
    """The fields that differ, in the order of their names; fields inside fields get dotted names."""
    old, new = dict(_fields(before or {})), dict(_fields(after or {}))
    names = sorted(old.keys() | new.keys())
    changes = [Change(name, old.get(name), new.get(name)) for name in names]
    return [change for change in changes if change.before != change.after]


def _fields(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, item in value.items():
        name = f"{prefix}{key}"
        if isinstance(item, Mapping) and item and not _is_digest(item):
            yield from _fields(item, f"{name}.")
        else:
            yield name, _readable(item)


def _readable(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and _is_digest(value):
        return _("text of %(length)d characters, sha256 %(sha256)s") % value
    return json.dumps(value, ensure_ascii=False)


def _is_digest(value: Mapping[str, Any]) -> bool:
    return (
        value.keys() == {"sha256", "length"}
        and isinstance(value["length"], int)
        and isinstance(value["sha256"], str)
    )
