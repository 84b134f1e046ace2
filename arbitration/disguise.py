"""Text that people do not see or cannot read: characters without a shape, and runs in an encoding.

An encoded run is suspected when it decodes to something readable. A checksum, a key or a signature decodes to noise
and gives nobody an order.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable

#: Code points of Unicode that show nothing or change the direction of text.
_UNSEEN = "\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_TAGS = "\U000e0020-\U000e007f"
#: Between two letters they split or hide words; eight of them are room for one hidden letter. Beside a blank they are
#: what word processors leave behind. Tags write a second, invisible alphabet, except in the flags of three nations.
_HIDDEN = re.compile(
    rf"(?<=\w)[{_UNSEEN}]{{2,}}(?=\w)|[{_UNSEEN}]{{8,}}|(?<![\U0001f3f4{_TAGS}])[{_TAGS}]{{1,500}}"
)
_NOT_SEEN = re.compile(
    f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c{_UNSEEN}\ufff9-\ufffb\U000e0000-\U000e0fff]"
)

_LONGEST_WORD = 60
_BASE64 = re.compile(r"[A-Za-z0-9+/]{60,}={0,2}")
_BASE32 = re.compile(r"[A-Z2-7]{60,}={0,6}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{2}){40,}(?![0-9A-Za-z])")
_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4}){8,}")
_BITS = re.compile(r"\b(?:[01]{8}\s{1,3}){8,}")
_MORSE = re.compile(r"(?:[.\-]{1,5} ){12,}")
_PAIR_OF_BITS = re.compile(r"\b[01]{8} [01]{8}")
_READABLE_SHARE = 0.9
_FEWEST_BYTES = 12


def hidden_characters(text: str) -> re.Match[str] | None:
    """The first run of characters that hide something; None where there is none."""
    return None if text.isascii() else _HIDDEN.search(text)


def encoded_run(text: str) -> str | None:
    """The first run that holds readable text in an encoding; None where there is none."""
    if max(map(len, text.split()), default=0) >= _LONGEST_WORD:
        for pattern, decode in _ENCODINGS:
            for found in pattern.finditer(text):
                if _is_readable(decode, found[0]):
                    return found[0]
    if ("0" in text or "1" in text) and _PAIR_OF_BITS.search(text) and (bits := _BITS.search(text)):
        return bits[0]
    if " .- " in text or " -. " in text:
        return next(
            (m[0] for m in _MORSE.finditer(text) if m[0].count("-") > 2 and m[0].count(".") > 2), None
        )
    return None


def shown(text: str) -> str:
    """The text with a visible code in place of every character that shows nothing or turns the direction of text."""
    return _NOT_SEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def _from_base64(run: str) -> bytes:
    body = run.rstrip("=")
    return base64.b64decode(body[: len(body) // 4 * 4])


def _from_base32(run: str) -> bytes:
    body = run.rstrip("=")
    return base64.b32decode(body[: len(body) // 8 * 8])


def _from_escapes(run: str) -> bytes:
    return "".join(chr(int(code, 16)) for code in run.split("\\u")[1:]).encode("utf-8", "replace")


_ENCODINGS: tuple[tuple[re.Pattern[str], Callable[[str], bytes]], ...] = (
    (_HEX, bytes.fromhex),
    (_BASE32, _from_base32),
    (_BASE64, _from_base64),
    (_ESCAPES, _from_escapes),
)


def _is_readable(decode: Callable[[str], bytes], run: str) -> bool:
    """Whether a run decodes to text. A run that starts in the middle of a group of letters is tried at each place."""
    for start in range(4 if decode is _from_base64 else 1):
        try:
            said = decode(run[start:]).replace(b"\x00", b"").decode("utf-8", "replace")
        except (ValueError, binascii.Error):
            continue
        readable = sum(char.isprintable() or char.isspace() for char in said if char != "\ufffd")
        if len(said) >= _FEWEST_BYTES and readable >= _READABLE_SHARE * len(said):
            return True
    return False
