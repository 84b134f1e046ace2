"""Ways to take something out of an export and keep its chain: what a reader must not take for the whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.audit.verifier import FIRST_FORMAT, Shown, event_hash, link_hash

Rows = list[dict[str, Any]]


def _hidden(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "event"}


def _recounted(rows: Rows) -> Rows:
    """With the header that the rows now have."""
    header, *links = rows
    shown = Shown()
    for row in links:
        if "event" in row and row["position"] <= header["end_position"]:
            shown.add(row["position"])
    told = {
        "events": shown.number,
        "links": len(links),
        "head": links[-1]["hash"],
        "shown_sha256": shown.value(),
    }
    return [header | told, *links]


def _rechained(rows: Rows) -> Rows:
    """With links that follow from what the rows now hold."""
    header, *links = rows
    head, made = header["start_hash"], []
    for row in links:
        digest = event_hash(row["event"]) if "event" in row else row["event_hash"]
        head = link_hash(prev_hash=head, event_hash=digest)
        made.append(row | {"event_hash": digest, "hash": head})
    return [header | {"head": head}, *made]


def hide_an_event(rows: Rows) -> Rows:
    """The first event becomes a link of another collection; the header counts one event less."""
    return _recounted([rows[0], _hidden(rows[1]), *rows[2:]])


def hide_all_events(rows: Rows) -> Rows:
    return _recounted([rows[0], *map(_hidden, rows[1:-1]), rows[-1]])


def cut_the_beginning(rows: Rows) -> Rows:
    """As if the scope began with the second event."""
    header = rows[0] | {"start_position": rows[3]["position"], "start_hash": rows[2]["hash"]}
    return _recounted([header, *rows[3:]])


def cut_the_end(rows: Rows) -> Rows:
    """As if the chain ended before the last event, and the export with it."""
    kept = [row for row in rows[1:] if row["position"] < 4]
    return _recounted([rows[0] | {"end_position": 3}, *kept])


def narrow_the_scope(rows: Rows) -> Rows:
    """As if a later period had been asked for."""
    later = rows[3]["event"]["created_at"]
    header = rows[0] | {"scope": rows[0]["scope"] | {"since": later}}
    return _recounted([header, _hidden(rows[1]), *rows[2:]])


def end_before_the_event(rows: Rows) -> Rows:
    """As if the event had come after the end of the export."""
    hidden = [_hidden(row) if row["position"] == 4 else row for row in rows[1:]]
    return _recounted([rows[0] | {"end_position": 3}, *hidden])


def hide_what_records_the_export(rows: Rows) -> Rows:
    return _recounted([*rows[:-1], _hidden(rows[-1])])


def record_it_otherwise(rows: Rows) -> Rows:
    """The export's own event is made up for what is left; the last link is new."""
    thin = hide_an_event(rows)
    event = thin[-1]["event"]
    after = event["after"] | {name: thin[0][name] for name in ("events", "shown_sha256")}
    return _recounted(_rechained([*thin[:-1], thin[-1] | {"event": event | {"after": after}}]))


def call_it_the_first_format(rows: Rows) -> Rows:
    """An older export never bound its scope."""
    header = {
        name: rows[0][name] for name in ("scope", "events", "links", "start_position", "start_hash", "head")
    }
    thin = [header | {"format": FIRST_FORMAT}, _hidden(rows[1]), *rows[2:]]
    return [thin[0] | {"events": sum("event" in row for row in thin[1:])}, *thin[1:]]


def say_it_twice(rows: Rows) -> str:
    """A reader sees the first of two values, the check the second."""
    row = json.dumps(rows[1])
    twice = f'{{"event": {{"id": 1, "action": "harmless"}}, {row[1:]}'
    return "".join(f"{line}\n" for line in (json.dumps(rows[0]), twice, *map(json.dumps, rows[2:])))


def say_it_beside(rows: Rows) -> Rows:
    """The event is hidden, and another one stands beside it under a key that is not checked."""
    shown = _hidden(rows[1]) | {"Event": {"id": 1, "action": "harmless"}}
    return _recounted([rows[0], shown, *rows[2:]])


def append_a_link(rows: Rows) -> Rows:
    more = {"position": rows[-1]["position"] + 1, "event_hash": "0" * 64}
    return _recounted(_rechained([*rows, more]))


def begin_before_the_beginning(rows: Rows) -> Rows:
    """A link before the first, so that the chain need not begin with 64 zeros."""
    first = {"position": rows[1]["position"] - 1, "event_hash": "0" * 64}
    header = rows[0] | {"start_position": first["position"], "start_hash": "1" * 64}
    return _recounted(_rechained([header, first, *rows[1:]]))


#: Refused without any anchor or key: the file contradicts itself.
REFUSED: dict[str, Callable[[Rows], Rows | str]] = {
    way.__name__: way
    for way in (
        hide_an_event,
        hide_all_events,
        cut_the_beginning,
        cut_the_end,
        narrow_the_scope,
        end_before_the_event,
        hide_what_records_the_export,
        say_it_twice,
        say_it_beside,
        append_a_link,
        begin_before_the_beginning,
    )
}
#: Whole in themselves: reported as not proven to be complete. An anchor of the last link refuses the first.
NOT_PROVEN: dict[str, Callable[[Rows], Rows | str]] = {
    way.__name__: way for way in (record_it_otherwise, call_it_the_first_format)
}


def thin(file: Path, way: Callable[[Rows], Rows | str]) -> None:
    """Rewrites an export in one of these ways, a signature left away."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    made = way([row for row in rows if "signature" not in row])
    text = made if isinstance(made, str) else "".join(json.dumps(row) + "\n" for row in made)
    file.write_text(text, "utf-8")
