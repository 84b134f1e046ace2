"""The hash chain of the audit trail: how it is computed, and a verifier of exported trails.

Needs only Python's standard library, and nothing of the product, so that anyone can check an export:

    python verifier.py EXPORT.jsonl [--anchor ANCHORS.jsonl] [--key KEYFILE]

The rule. An event is written as JSON with sorted keys, without spaces, in ASCII; ``event_hash`` is the
SHA-256 of that. A link of the chain is the SHA-256 of the previous link and the event's hash, both as 64
hexadecimal digits. The first previous link is 64 zeros.

An export holds one JSON object a line: a header, then one link a position without gaps, with the event
where it belongs to the export and with the event's hash alone where it does not. A signed export ends with a
line {"signature": ...}: the HMAC-SHA256 of all lines before it, newlines included, under a key that maker and
reader share. Exit status 0 = intact, 1
= broken, 2 = not an export.
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
EXPORT_FORMAT = "audit-export/1"


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
        """One more line."""
        self._mac.update(line.encode("utf-8"))

    def value(self) -> str:
        """64 hexadecimal digits."""
        return self._mac.hexdigest()


def verify_export(
    lines: Iterable[str], *, anchors: Mapping[int, str] | None = None, key: bytes | None = None
) -> dict[str, Any]:
    """Checks an export's chain, its links against anchored heads (position to hash), and with a key its signature.

    Gives ``{"events", "links", "head", "anchors", "signed"}``: events read, links checked, the last link, anchors
    met, and whether a signature was there and checked. Raises :class:`Broken` and :class:`NotAnExport`.
    """
    signature = _SignatureCheck(key)
    rows = signature.rows(lines)
    header = next(rows, {})
    if header.get("format") != EXPORT_FORMAT:
        raise NotAnExport(f"the first line is not the header of an {EXPORT_FORMAT} file")
    anchors = anchors or {}
    position, head = int(header["start_position"]) - 1, str(header["start_hash"])
    events = links = met = 0
    if position == 0 and head != GENESIS:
        raise Broken("the chain does not begin with 64 zeros")
    for row in rows:
        position += 1
        head = _next_link(row, position=position, prev_hash=head)
        links += 1
        events += "event" in row
        if position in anchors:
            met += 1
            if anchors[position] != head:
                raise Broken(f"position {position} differs from the anchored head")
    if links != header["links"] or events != header["events"] or head != header["head"]:
        raise Broken(
            f"the file ends early or late: {links} links and {events} events do not match its header"
        )
    signature.require()
    return {"events": events, "links": links, "head": head, "anchors": met, "signed": signature.is_checked}


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
        row = json.loads(line)
    except ValueError as error:
        raise NotAnExport(f"line {number} is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise NotAnExport(f"line {number} is not a JSON object")
    return row


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Checks an exported audit trail.")
    parser.add_argument("export", type=Path)
    parser.add_argument("--anchor", type=Path, help="a file written by anchor_audit, kept elsewhere")
    parser.add_argument("--key", type=Path, help="a file with the key under which exports are signed")
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
