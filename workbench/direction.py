"""Characters that change the direction of reading are shown, not obeyed: a right-to-left override makes "not liable"
read as something else, in a reason as in a record.

Stored text stays as it was written, since evidence is found again by it. What is shown on a page, printed in a file or
sent by mail goes through here: pages and JSON in one middleware, files where they are written.
"""

from __future__ import annotations

import re
import unicodedata

from django.utils.html import escape
from django.utils.translation import gettext as _

#: The bidirectional controls (Unicode Standard Annex 9, table 4) and their usual short names.
NAMES = {
    "\u061c": "ALM",
    "\u200e": "LRM",
    "\u200f": "RLM",
    "\u202a": "LRE",
    "\u202b": "RLE",
    "\u202c": "PDF",
    "\u202d": "LRO",
    "\u202e": "RLO",
    "\u2066": "LRI",
    "\u2067": "RLI",
    "\u2068": "FSI",
    "\u2069": "PDI",
}
_CONTROL = re.compile(f"[{''.join(NAMES)}]")
_ENCODED = re.compile(b"|".join(re.escape(control.encode()) for control in NAMES))
#: Where markup would be wrong: what a person edits and what a program reads stays as it is, and some elements hold
#: nothing but text.
_UNTOUCHED = ("textarea", "script", "style")
_TEXT_ONLY = ("title", "option", "svg")
_PIECES = re.compile(
    rf"<(?P<element>{'|'.join(_UNTOUCHED + _TEXT_ONLY)})\b.*?</(?P=element)\s*>|<!--.*?-->|(?P<tag><[^>]*>)",
    re.DOTALL | re.IGNORECASE,
)
_READ_OUT = re.compile(
    r"""\b(?:title|aria-label|aria-description|alt|placeholder|data-confirm)\s*=\s*"[^"]*\""""
)


def is_steered(encoded: bytes) -> bool:
    """Whether text in UTF-8 holds a control; quick, since nearly none does."""
    return _ENCODED.search(encoded) is not None


def shown(text: str) -> str:
    """The text with each control as its name in brackets: for files and mails."""
    return _CONTROL.sub(lambda found: f"[{NAMES[found[0]]}]", text)


def shown_in_html(page: str) -> str:
    """The page with each control as a boxed name, in the text that is read; in attributes that are read out and in
    elements that hold text only, as the name in brackets. What forms send and what is edited stays as it is."""
    parts: list[str] = []
    end = 0
    for piece in _PIECES.finditer(page):
        parts += (_boxed(page[end : piece.start()]), _in_piece(piece))
        end = piece.end()
    return "".join([*parts, _boxed(page[end:])])


def shown_in_json(text: str) -> str:
    """JSON that means the same, with each control escaped: read as text it stays in order."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _boxed(text: str) -> str:
    return _CONTROL.sub(lambda found: _box(found[0]), text)


def _box(control: str) -> str:
    said = _("Changes the direction of reading: %(name)s") % {"name": unicodedata.name(control).lower()}
    return f'<span class="direction" title="{escape(said)}">{NAMES[control]}</span>'


def _in_piece(piece: re.Match[str]) -> str:
    whole = piece[0]
    if piece["tag"]:
        return _READ_OUT.sub(lambda found: shown(found[0]), whole)
    return shown(whole) if (piece["element"] or "").lower() in _TEXT_ONLY else whole
