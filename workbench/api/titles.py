"""The title of each operation in the API description, such as "Cancel a run"."""

from __future__ import annotations

import json
from pathlib import Path

#: By operation id, for operations that :func:`title_of` cannot name.
_TITLES: dict[str, str] = json.loads(Path(__file__).with_name("titles.json").read_text("utf-8"))
#: By basename, for things that people call by another name than their address.
_THINGS = {
    "labeling-desk": "pair",
    "maintenance": "maintenance job",
    "queue": "card",
    "vocabulary": "synonym pair",
}
_VERBS = {"list": "List", "retrieve": "Get", "create": "Create"}


def title_of(operation_id: str, *, thing: str, act: str) -> str | None:
    """What an operation does, as an imperative. ``thing`` and ``act`` are those of a viewset; None for an operation
    that has neither these nor a title here."""
    if operation_id in _TITLES:
        return _TITLES[operation_id]
    if not (thing and act):
        return None
    name = _THINGS.get(thing) or thing.replace("-", " ").replace("labeling", "labelling")
    if act == "list":
        return f"List {name[:-1]}ies" if name.endswith("y") else f"List {name}s"
    one = f"{'an' if name[0] in 'aeio' else 'a'} {name}"
    if act not in _VERBS and operation_id.endswith(("_list", "_retrieve")):
        return f"Get the {act} of {one}"
    return f"{_VERBS.get(act, act.replace('_', ' ').capitalize())} {one}"
