"""The files attached to a mail, read in a child process as parsers are.

What a sender can make long is counted or cut before it is read: parts, and the headers of each.
"""

from __future__ import annotations

import email
import email.policy
import json
from collections.abc import Iterator, Sequence
from email.message import Message
from typing import TypedDict

from arbitration.errors import ParseFailure
from arbitration.parsing.mail import TOLERATED, file_name_of, header_of, payload_of

#: Parts of a mail, those of attached mails included.
MAX_PARTS = 1_000
#: Headers of a part that say what it is and what it is called.
_NAMING = ("Content-Disposition", "Content-Type")
_MAX_HEADER = 2_000  # characters
_FACTS = ("subject", "from", "date")


class Attached(TypedDict):
    """An attachment: its place among the attachments, its stated name or "", its size."""

    place: int
    name: str
    size: int
    refusal: str


def files_of(data: bytes, *, most: int, room: int) -> bytes:
    """A line of JSON with a mail's facts and attachments, then the bytes of the first ones, as far as they go into
    ``room``; ``held`` says of how many. Raises :class:`ParseFailure`: ``too_many`` for more than ``most`` attachments,
    ``too_large`` for more parts than are read, ``corrupt``."""
    mail = _mail(data)
    attached = list(_attached(mail, most))
    files: list[Attached] = []
    bodies: list[bytes] = []
    is_open = True
    for place, part in enumerate(attached):
        body = payload_of(part)
        files.append(Attached(place=place, name=file_name_of(part), size=len(body), refusal=""))
        room -= len(body)
        is_open = is_open and room >= 0
        if is_open:
            bodies.append(body)
    facts = {name: header_of(mail, name) for name in _FACTS}
    return _line({"facts": facts, "files": files, "held": len(bodies)}) + b"".join(bodies)


def contents_of(data: bytes, *, places: Sequence[int], most: int) -> bytes:
    """Some attachments: a line of JSON with each one's size, then their bytes one after another."""
    attached = list(_attached(_mail(data), most))
    bodies = [payload_of(attached[place]) for place in places]
    return _line([{"size": len(body), "refusal": ""} for body in bodies]) + b"".join(bodies)


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _mail(data: bytes) -> Message:
    try:
        return email.message_from_bytes(data, policy=email.policy.compat32)
    except TOLERATED as error:
        raise ParseFailure("corrupt", "The mail cannot be read: it is malformed.") from error


def _attached(mail: Message, most: int) -> Iterator[Message]:
    count = 0
    for number, part in enumerate(_parts(mail), start=1):
        if number > MAX_PARTS:
            raise ParseFailure("too_large", f"The mail has more than {MAX_PARTS:,} parts.")
        _cut(part)
        if _is_attachment(part):
            count += 1
            if count > most:
                raise ParseFailure("too_many", f"The mail has more than {most} attachments.")
            yield part


def _parts(mail: Message) -> Iterator[Message]:
    """Each part in order, also inside attached mails. A loop, not a recursion: nesting is the sender's choice."""
    pending = [mail]
    while pending:
        part = pending.pop()
        yield part
        inside = part.get_payload()
        if isinstance(inside, list):
            pending.extend(item for item in reversed(inside) if isinstance(item, Message))


def _cut(part: Message) -> None:
    """Reading a header takes longer the longer it is, and it is read several times."""
    for name in _NAMING:
        stated = part.get(name)
        if stated is not None and len(str(stated)) > _MAX_HEADER:
            part.replace_header(name, str(stated)[:_MAX_HEADER])


def _is_attachment(part: Message) -> bool:
    try:
        return part.get_content_disposition() == "attachment"
    except TOLERATED:
        return False
