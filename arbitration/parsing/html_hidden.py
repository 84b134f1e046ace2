"""Which elements of a web page a reader does not see: by attribute, inline style or a simple rule of its style sheet.

Scripts may hide or show anything; they are never run, so what they would do is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from arbitration.spans import without_spans

_MAX_SELECTORS, _MAX_BODY = 500, 4000  # characters of one rule
_SIMPLE = re.compile(r"^(?:[a-z][a-z0-9]*)?[.#][\w-]+$|^[a-z][a-z0-9]*$")
_NUMBER = re.compile(r"^(-?(?:\d{1,12}(?:\.\d{1,12})?|\.\d{1,12}))\s*(px|pt|em|rem|%)?$")
_MAX_SHEET = 500_000  # characters
_TINY = {"px": 1.5, "pt": 1.5, "em": 0.1, "rem": 0.1, "%": 10.0, None: 0.0}
_FAR = -500.0  # a place this far to the left or above is off every screen
_COLOURS = {"white": "ffffff", "#fff": "ffffff", "#ffffff": "ffffff", "black": "000000", "transparent": ""}


def declarations(style: str) -> dict[str, str]:
    """Properties of a style attribute or rule, in lower case without ``!important``."""
    found: dict[str, str] = {}
    for part in style.casefold().split(";"):
        name, separator, value = part.partition(":")
        if separator:
            found[name.strip()] = value.replace("!important", "").strip()
    return found


def hides(properties: Mapping[str, str]) -> bool:
    """Whether these properties make text unseen."""
    if properties.get("display") == "none" or properties.get("visibility") in ("hidden", "collapse"):
        return True
    if _number(properties.get("opacity"))[0] == 0.0 or properties.get("mso-hide") == "all":
        return True
    size, unit = _number(properties.get("font-size"))
    if size is not None and size <= _TINY.get(unit, 0.0):
        return True
    offsets = [_number(properties.get(name))[0] for name in ("left", "top", "text-indent", "margin-left")]
    if any(offset is not None and offset <= _FAR for offset in offsets):
        return True
    if properties.get("clip", "").replace(" ", "") in (
        "rect(0,0,0,0)",
        "rect(0000)",
        "rect(0px,0px,0px,0px)",
    ):
        return True
    return _is_paper_on_paper(properties)


def _number(value: str | None) -> tuple[float | None, str | None]:
    match = _NUMBER.match(value or "")
    return (float(match.group(1)), match.group(2)) if match is not None else (None, None)


def _is_paper_on_paper(properties: Mapping[str, str]) -> bool:
    """The colour of the text is that of its own background, white where none is stated."""
    colour = _colour(properties.get("color", ""))
    if not colour:
        return properties.get("color") == "transparent"
    ground = properties.get("background-color", properties.get("background", ""))
    return colour == (_colour(ground.split(" ")[0]) or ("ffffff" if not ground else None))


def _colour(value: str) -> str | None:
    named = _COLOURS.get(value)
    if named is not None:
        return named
    return value[1:] if re.fullmatch(r"#[0-9a-f]{6}", value) else None


class HiddenRules:
    """The selectors of a page's style sheets that hide what they match: a tag, a class or an id, nothing longer."""

    def __init__(self) -> None:
        self._hidden: set[str] = set()
        self._read = 0

    def add_sheet(self, text: str) -> None:
        """Take the rules of one ``style`` element in; rules inside ``@media print`` and the like do not count."""
        text = without_spans(text[: _MAX_SHEET - self._read], "/*", "*/")
        self._read += len(text)
        for selectors, body in _rules(_without_blocks(text)):
            if hides(declarations(body)):
                self._hidden.update(s for s in map(str.strip, selectors.split(",")) if _SIMPLE.match(s))

    def match(self, tag: str, classes: Iterable[str], element_id: str) -> bool:
        """Whether an element is hidden by a rule."""
        if not self._hidden:
            return False
        keys = [tag, f"#{element_id}", f"{tag}#{element_id}"]
        keys.extend(key for name in classes for key in (f".{name}", f"{tag}.{name}"))
        return any(key in self._hidden for key in keys)


def _rules(text: str) -> Iterator[tuple[str, str]]:
    """Selectors and body of each innermost rule."""
    for piece in text.split("}")[:-1]:
        before, brace, body = piece.rpartition("{")
        if brace and len(body) <= _MAX_BODY:
            yield before.rpartition("{")[2][-_MAX_SELECTORS:], body


def _without_blocks(text: str) -> str:
    """The sheet without ``@`` blocks, nested rules and all."""
    kept: list[str] = []
    depth, skip_from = 0, -1
    start = 0
    for match in re.finditer(r"@[\w-]++[^{};@]*\{|[{}]", text):
        brace = match.group(0)
        if brace.endswith("}"):
            depth -= 1
            if skip_from == depth:
                skip_from, start = -1, match.end()
            continue
        if brace.startswith("@") and skip_from < 0:
            kept.append(text[start : match.start()])
            skip_from = depth
        depth += 1
    if skip_from < 0:
        kept.append(text[start:])
    return "".join(kept)
