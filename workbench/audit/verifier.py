"""The hash chain of the audit trail: how it is computed, and a verifier of exported trails.

Needs only Python's standard library, and nothing of the product, so that anyone can check an export:

    python verifier.py EXPORT.jsonl [--anchor ANCHORS.jsonl] [--key KEYFILE] [--complete]

The rule. An event is written as JSON with sorted keys, without spaces, in ASCII; ``event_hash`` is the
SHA-256 of that. A link of the chain is the SHA-256 of the previous link and the event's hash, both as 64
hexadecimal digits. The first previous link is 64 zeros.

An export holds one JSON object a line: a header, then one link a position without gaps, with the event
where it belongs to the export and with the event's hash alone where it does not. The last link is that of the
event that records the export, and that event names what the export shows: the scope, the first and the last
position, the number of events, and the SHA-256 of their positions (decimal, one a line). So nobody can leave out an
event, narrow the scope or cut off the beginning without changing the last link, and an anchor of that link or of a
later one in the file proves it. Exports of the first format end with the head of the chain instead, and say what they
hold on their own word only.

A signed export ends with a line {"signature": ...}: the HMAC-SHA256 of all lines before it, newlines included, under a
key that maker and reader share.

The report says what is certain (``knows``) and what is not (``cannot_know``); ``complete`` is "proven" or "unknown".
Exit status 0 = intact, 1 = broken, or with --complete not proven to be complete, 2 = not an export.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

GENESIS = "0" * 64
EXPORT_FORMAT = "audit-export/2"
#: Exports made before the last link named what they show.
FIRST_FORMAT = "audit-export/1"
EXPORT_ACTION = "audit.exported"
#: What the event of an export repeats of its header.
BOUND = ("format", "collection_id", "events", "start_position", "end_position", "shown_sha256")
ROW_KEYS = frozenset({"position", "event_hash", "hash", "event"})


def event_hash(event: Mapping[str, Any]) -> str:
    """SHA-256 (64 hexadecimal digits) of an event's canonical JSON."""
    canonical = json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def link_hash(*, prev_hash: str, event_hash: str) -> str:
    """The link that binds an event to everything before it."""
    return hashlib.sha256(f"{prev_hash}{event_hash}".encode("ascii")).hexdigest()


class Broken(Exception):
    """The chain is not intact; the message names the first place."""


class NotAnExport(Exception):
    """The file is no export of an audit trail."""


class Signature:
    """The signature of an export: fed with its lines, newlines included."""

    def __init__(self, key: bytes) -> None:
        self._mac = hmac.new(key, digestmod=hashlib.sha256)

    def add(self, line: str) -> None:
        self._mac.update(line.encode("utf-8"))

    def value(self) -> str:
        """64 hexadecimal digits."""
        return self._mac.hexdigest()


class Shown:
    """The SHA-256 of the positions of the events that an export shows: fed with them in order."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.number = 0

    def add(self, position: int) -> None:
        self._digest.update(f"{position}\n".encode("ascii"))
        self.number += 1

    def value(self) -> str:
        """64 hexadecimal digits."""
        return self._digest.hexdigest()


def verify_export(
    lines: Iterable[str], *, anchors: Mapping[int, str] | None = None, key: bytes | None = None
) -> dict[str, Any]:
    """Checks an export's chain, its links against anchored heads (position to hash), and with a key its signature.

    Gives ``{"events", "links", "head", "anchors", "signed", "complete", "knows", "cannot_know"}``: events read, links
    checked, the last link, anchors met, whether a signature was there and checked, whether it is "proven" that no event
    of the scope was left out or that is "unknown", and both in sentences. Raises :class:`Broken` and
    :class:`NotAnExport`.
    """
    signature = _SignatureCheck(key)
    rows = signature.rows(lines)
    header = next(rows, {})
    if header.get("format") not in {EXPORT_FORMAT, FIRST_FORMAT}:
        raise NotAnExport(f"the first line is not the header of an {EXPORT_FORMAT} file")
    walk = _Walk(header, anchors or {})
    for row in rows:
        walk.step(row)
    walk.end()
    signature.require()
    return _report(walk, signed=signature.is_checked)


class _Walk:
    """The walk along the links of an export: how far it has come, and what it met."""

    def __init__(self, header: Mapping[str, Any], anchors: Mapping[int, str]) -> None:
        self.header, self._anchors = header, anchors
        self.is_bound = header["format"] == EXPORT_FORMAT
        self.first = int(header["start_position"])
        self.position, self.head = self.first - 1, str(header["start_hash"])
        self.shown = Shown()
        self.links = self.met = self.anchored = 0
        self._closing: Mapping[str, Any] | None = None
        self._last = int(header["end_position"]) if self.is_bound else None
        self._last_head = self.head
        if self.first < 1:
            raise Broken(f"there is no position {self.first}")
        if self.first == 1 and self.head != GENESIS:
            raise Broken("the chain does not begin with 64 zeros")

    @property
    def is_complete(self) -> bool:
        """Whether an anchor holds the event that names what the export shows."""
        return self.is_bound and self.anchored == self.position

    def step(self, row: Mapping[str, Any]) -> None:
        """One more link."""
        if self._closing is not None:
            raise Broken(f"position {self.position} records the export, but more links follow")
        self.position += 1
        self.head = _next_link(row, position=self.position, prev_hash=self.head)
        self.links += 1
        if "event" in row:
            self._show(row["event"])
        if self.position == self._last:
            self._last_head = self.head
        if self.position in self._anchors:
            self.met += 1
            if self._anchors[self.position] != self.head:
                raise Broken(f"position {self.position} differs from the anchored head")
            self.anchored = self.position

    def _show(self, event: Mapping[str, Any]) -> None:
        if self._last is not None and self.position > self._last:
            self._closing = event
            return
        self.shown.add(self.position)

    def end(self) -> None:
        """Raises :class:`Broken` when the links are not those of the header, or of the export's own event."""
        told = self.header
        if (self.links, self.shown.number, self.head) != (told["links"], told["events"], told["head"]):
            raise Broken(
                f"the file ends early or late: {self.links} links and {self.shown.number} events "
                "do not match its header"
            )
        if self.is_bound:
            self._require_bound()

    def _require_bound(self) -> None:
        event = self._closing or {}
        if event.get("action") != EXPORT_ACTION:
            raise Broken("the last link is not that of the event that records the export")
        made = event.get("after") or {}
        told = {name: self.header[name] for name in BOUND} | self.header["scope"]
        differing = sorted(name for name, value in told.items() if name not in made or made[name] != value)
        if differing:
            raise Broken(f"the export was recorded with another {differing[0]} than its header says")
        if (made["shown_sha256"], made["head"]) != (self.shown.value(), self._last_head):
            raise Broken("events were left out: the export was recorded with others than the file shows")


def _report(walk: _Walk, *, signed: bool) -> dict[str, Any]:
    is_complete = walk.is_complete or signed
    return {
        "events": walk.shown.number,
        "links": walk.links,
        "head": walk.head,
        "anchors": walk.met,
        "signed": signed,
        "format": walk.header["format"],
        "scope": walk.header.get("scope"),
        "complete": "proven" if is_complete else "unknown",
        "knows": _known(walk, signed=signed),
        "cannot_know": _unknown(walk, signed=signed),
    }


def _known(walk: _Walk, *, signed: bool) -> list[str]:
    told = [
        f"Positions {walk.first} to {walk.position} are links of one chain, and each of the {walk.shown.number} events "
        "shown is the one whose hash stands in it."
    ]
    if walk.met:
        told.append(f"Up to position {walk.anchored} it is the chain that was anchored.")
    if walk.is_complete:
        told.append("No event of the scope was left out: the event that records the export is anchored.")
    if signed:
        told.append("The file is as somebody who holds the key wrote it, with nothing left out since.")
    return told


def _unknown(walk: _Walk, *, signed: bool) -> list[str]:
    told = []
    if not walk.met and not signed:
        told.append(
            "Whether this is the chain of the installation: no anchor was met and no signature checked, and a file "
            "that was made up as a whole looks the same."
        )
    elif walk.anchored < walk.position and not signed:
        told.append(f"Whether what follows position {walk.anchored} is the chain of the installation.")
    if not walk.is_complete and not signed:
        told.append(
            "Whether events were left out: only an anchor of the last link, made after the export, can prove that none "
            "was."
            if walk.is_bound
            else "Whether events were left out, or the scope was another: this file is of the first format, which "
            "binds neither. Only its signature, or a new export, can prove it."
        )
    return told


class _SignatureCheck:
    """Passes the rows on and keeps their signature; without a key only takes the signature's line away."""

    def __init__(self, key: bytes | None) -> None:
        self._made = Signature(key) if key is not None else None
        self.is_checked = False

    def rows(self, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        """The parsed lines without the signature."""
        is_over = False
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            row = _parsed(line, number)
            if is_over:
                raise Broken(f"line {number} stands behind the signature")
            if "signature" in row:
                is_over = True
                self._compare(str(row["signature"]))
                continue
            if self._made is not None:
                self._made.add(line if line.endswith("\n") else line + "\n")
            yield row

    def _compare(self, found: str) -> None:
        if self._made is None:
            return
        if not hmac.compare_digest(found, self._made.value()):
            raise Broken("the signature is not that of this file under this key")
        self.is_checked = True

    def require(self) -> None:
        """Raises :class:`Broken` when a key was given and nothing is signed."""
        if self._made is not None and not self.is_checked:
            raise Broken("the file is not signed")


def _next_link(row: Mapping[str, Any], *, position: int, prev_hash: str) -> str:
    if row.get("position") != position:
        raise Broken(f"position {position} is missing: found {row.get('position')}")
    if not row.keys() <= ROW_KEYS:
        raise Broken(f"position {position} holds what no export holds: {min(row.keys() - ROW_KEYS)}")
    digest = str(row.get("event_hash"))
    if "event" in row and event_hash(row["event"]) != digest:
        raise Broken(f"event {row['event'].get('id')} at position {position} was changed")
    link = link_hash(prev_hash=prev_hash, event_hash=digest)
    if link != row.get("hash"):
        raise Broken(f"the link at position {position} does not follow from the one before")
    return link


def read_anchors(lines: Iterable[str]) -> dict[int, str]:
    """Position to hash, from an anchor file (one ``{"position", "hash", "time"}`` a line)."""
    rows = [_parsed(line, number) for number, line in enumerate(lines, start=1) if line.strip()]
    return {int(row["position"]): str(row["hash"]) for row in rows}


def _parsed(line: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line, object_pairs_hook=_once_each)
    except (ValueError, RecursionError) as error:
        raise NotAnExport(f"line {number} is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise NotAnExport(f"line {number} is not a JSON object")
    return row


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys differ: of two values of one key a person may read the one that is not checked."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Broken("an object names the same key twice")
    return found


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Checks an exported audit trail.")
    parser.add_argument("export", type=Path)
    parser.add_argument("--anchor", type=Path, help="a file written by anchor_audit, kept elsewhere")
    parser.add_argument("--key", type=Path, help="a file with the key under which exports are signed")
    parser.add_argument(
        "--complete", action="store_true", help="fail unless it is proven that nothing was left out"
    )
    options = parser.parse_args(arguments)
    try:
        key = options.key.read_text("utf-8").strip().encode("utf-8") if options.key else None
        anchors = read_anchors(options.anchor.read_text("utf-8").splitlines()) if options.anchor else None
        with options.export.open(encoding="utf-8") as lines:
            report = verify_export(lines, anchors=anchors, key=key)
    except Broken as error:
        sys.stderr.write(f"broken: {error}\n")
        return 1
    except (NotAnExport, OSError, KeyError, TypeError, ValueError) as error:
        sys.stderr.write(f"cannot be checked: {error}\n")
        return 2
    sys.stdout.write(json.dumps(report) + "\n")
    for sentence in report["knows"]:
        sys.stderr.write(f"certain: {sentence}\n")
    for sentence in report["cannot_know"]:
        sys.stderr.write(f"not certain: {sentence}\n")
    return 1 if options.complete and report["complete"] != "proven" else 0


if __name__ == "__main__":
    sys.exit(main())
