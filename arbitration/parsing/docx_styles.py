"""Styles and numbering of a WordprocessingML document (ECMA-376 part 1, 17.7 and 17.9)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from arbitration.numerals import roman
from arbitration.parsing.safe_xml import Element

_MAX_BASES = 20
_HEADING_NAME = re.compile(r"^(?:heading|título|titulo|encabezado)\s+([1-9])$", re.IGNORECASE)
_TITLE_NAME = re.compile(r"^(?:title|título|titulo|puesto)$", re.IGNORECASE)
_BODY_LEVEL = 9  # ECMA-376: outline level 9 is body text
_OFF = frozenset({"0", "false", "off", "none"})
_MAX_LETTERS = 26 * 8


@dataclass(frozen=True, slots=True)
class Look:
    """What runs and paragraphs look like; None where nothing is said, so that the style below decides.

    ``size`` is in points, ``level`` the outline level from 1, 0 for body text.
    """

    bold: bool | None = None
    underlined: bool | None = None
    vanish: bool | None = None
    caps: bool | None = None
    size: float | None = None
    colour: str | None = None
    shaded: bool | None = None
    level: int | None = None
    num_id: str | None = None
    num_level: int | None = None

    def over(self, below: Look) -> Look:
        """This look, with what it leaves open taken from the one below."""
        stated = {name: getattr(self, name) for name in _FIELDS if getattr(self, name) is not None}
        return replace(below, **stated)

    @property
    def is_unseen(self) -> bool:
        """Hidden by its own properties, white on nothing, or too small to see."""
        white = self.colour is not None and self.colour.upper() == "FFFFFF" and not self.shaded
        return bool(self.vanish) or white or (self.size is not None and self.size <= 1.5)


_FIELDS = tuple(Look.__dataclass_fields__)
_LOOK_OF_NOTHING = Look()


def is_on(parent: Element, name: str) -> bool | None:
    """A toggle property: None when it is absent."""
    found = parent.child(name)
    return None if found is None else found.get("w:val", "true").casefold() not in _OFF


def run_look(properties: Element | None) -> Look:
    """What a ``w:rPr`` says."""
    if properties is None:
        return _LOOK_OF_NOTHING
    size, colour = properties.child("w:sz"), properties.child("w:color")
    shaded = any(_fills(properties.child(name)) for name in ("w:shd", "w:highlight"))
    return Look(
        bold=is_on(properties, "w:b"),
        underlined=is_on(properties, "w:u"),
        vanish=is_on(properties, "w:vanish"),
        caps=is_on(properties, "w:caps"),
        size=_half_points(size.get("w:val")) if size is not None else None,
        colour=colour.get("w:val") if colour is not None else None,
        shaded=True if shaded else None,
    )


def _fills(shading: Element | None) -> bool:
    if shading is None:
        return False
    fill = shading.get("w:fill") or shading.get("w:val")
    return fill.casefold() not in ("", "auto", "none", "clear", "ffffff", "white")


def _fills_below(element: Element) -> bool:
    return any((child.name == "w:shd" and _fills(child)) or _fills_below(child) for child in element.children)


def cell_fills(cell: Element) -> bool:
    """Whether a table cell states a colour of its own."""
    properties = cell.child("w:tcPr")
    return properties is not None and _fills(properties.child("w:shd"))


def _half_points(value: str) -> float | None:
    return int(value) / 2 if value.isdecimal() and len(value) < 6 else None


def paragraph_look(properties: Element | None) -> Look:
    """What a ``w:pPr`` says of the paragraph itself: outline level and numbering."""
    if properties is None:
        return _LOOK_OF_NOTHING
    level = _number_at(properties, "w:outlineLvl")
    numbering = properties.child("w:numPr")
    num_id = numbering.child("w:numId") if numbering is not None else None
    return Look(
        level=None if level is None else (0 if level >= _BODY_LEVEL else level + 1),
        num_id=num_id.get("w:val") if num_id is not None else None,
        num_level=_number_at(numbering, "w:ilvl") if numbering is not None else None,
        shaded=True if _fills(properties.child("w:shd")) else None,
    )


def _number_at(parent: Element, name: str) -> int | None:
    found = parent.child(name)
    value = found.get("w:val") if found is not None else ""
    return int(value) if value.isdecimal() and len(value) < 8 else None


@dataclass(slots=True)
class Style:
    """A named style, resolved: what it says together with what it is based on."""

    name: str
    look: Look
    is_title: bool


class Styles:
    """The styles of a document by id; one that is unknown looks like the default."""

    def __init__(self, root: Element | None) -> None:
        self._raw: dict[str, Element] = {}
        self._known: dict[str, Style] = {}
        self._default = Look()
        self._default_id = ""
        for child in root.children if root is not None else ():
            if child.name == "w:docDefaults":
                holder = child.child("w:rPrDefault")
                self._default = run_look(holder.child("w:rPr") if holder is not None else None)
            elif child.name == "w:style":
                self._raw.setdefault(child.get("w:styleId"), child)
                if child.get("w:type") == "paragraph" and child.get("w:default") in ("1", "true"):
                    self._default_id = child.get("w:styleId")

    def paragraph(self, style_id: str) -> Style:
        """The paragraph style, defaults of the document included."""
        return self._resolved(style_id or self._default_id)

    def run(self, style_id: str) -> Look:
        """What a character style says."""
        raw = self._raw.get(style_id)
        return run_look(raw.child("w:rPr")) if raw is not None else _LOOK_OF_NOTHING

    def fills_tables(self, style_id: str) -> bool:
        """Whether a table style colours cells, whichever: white words in them may be seen."""
        raw = self._raw.get(style_id)
        return raw is not None and _fills_below(raw)

    def _resolved(self, style_id: str) -> Style:
        known = self._known.get(style_id)
        if known is None:
            known = self._known[style_id] = self._resolve(style_id)
        return known

    def _resolve(self, style_id: str) -> Style:
        look, name, is_title = _LOOK_OF_NOTHING, "", False
        current, seen = style_id, 0
        while current in self._raw and seen < _MAX_BASES:  # a style may be based on itself
            raw = self._raw[current]
            title = raw.child("w:name")
            title_text = title.get("w:val") if title is not None else ""
            name = name or title_text
            is_title = is_title or bool(_TITLE_NAME.match(title_text))
            own = paragraph_look(raw.child("w:pPr")).over(run_look(raw.child("w:rPr")))
            heading = _HEADING_NAME.match(title_text)
            if heading is not None and own.level is None:
                own = replace(own, level=int(heading.group(1)))
            look = look.over(own)
            base = raw.child("w:basedOn")
            current, seen = base.get("w:val") if base is not None else "", seen + 1
        return Style(name, look.over(self._default), is_title)


@dataclass(slots=True)
class _Level:
    start: int
    form: str
    pattern: str
    restarts_after: int | None


@dataclass(slots=True)
class Numbering:
    """Numbers of list paragraphs, counted as a word processor would: ``2.1``, ``(a)``, ``Article IV``."""

    _levels: dict[str, dict[int, _Level]] = field(default_factory=dict)
    _lists: dict[str, str] = field(default_factory=dict)
    _counts: dict[str, list[int]] = field(default_factory=dict)
    _overrides: dict[str, dict[int, int]] = field(default_factory=dict)
    _started: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, root: Element | None) -> Numbering:
        """The lists that ``numbering.xml`` defines."""
        numbering = cls()
        for child in root.children if root is not None else ():
            if child.name == "w:abstractNum":
                numbering._levels[child.get("w:abstractNumId")] = {
                    int(level.get("w:ilvl")): _level(level)
                    for level in child.children
                    if level.name == "w:lvl" and level.get("w:ilvl").isdecimal()
                }
            elif child.name == "w:num":
                abstract = child.child("w:abstractNumId")
                numbering._lists[child.get("w:numId")] = abstract.get("w:val") if abstract is not None else ""
                numbering._overrides[child.get("w:numId")] = _start_overrides(child)
        return numbering

    def label(self, look: Look) -> str:
        """The number or bullet of the next paragraph of that list and level; empty without numbering."""
        num_id, depth = look.num_id or "", min(look.num_level or 0, 8)
        abstract = self._lists.get(num_id, "")
        level = self._levels.get(abstract, {}).get(depth)
        if level is None or num_id == "0":
            return ""
        counts = self._counts.setdefault(abstract, [])
        self._restart(num_id, counts)
        while len(counts) <= depth:
            counts.append(self._first(abstract, len(counts)) - (len(counts) == depth))
        counts[depth] += 1
        self._reset_below(abstract, counts, depth)
        if level.form == "none" and "%" in level.pattern:
            return ""
        return "•" if level.form == "bullet" else self._filled(abstract, level.pattern, counts)

    def _restart(self, num_id: str, counts: list[int]) -> None:
        """A list that states its own start takes it once, at its first paragraph."""
        if num_id in self._started:
            return
        self._started.add(num_id)
        for depth, start in self._overrides.get(num_id, {}).items():
            if depth < len(counts):
                counts[depth] = start - 1
                del counts[depth + 1 :]

    def _reset_below(self, abstract: str, counts: list[int], depth: int) -> None:
        levels = self._levels.get(abstract, {})
        for below in range(depth + 1, len(counts)):
            after = levels[below].restarts_after if below in levels else None
            if after is None or (after and depth < after):
                counts[below] = self._first(abstract, below) - 1

    def _first(self, abstract: str, depth: int) -> int:
        level = self._levels.get(abstract, {}).get(depth)
        return level.start if level is not None else 1

    def _filled(self, abstract: str, pattern: str, counts: list[int]) -> str:
        levels = self._levels.get(abstract, {})

        def number(match: re.Match[str]) -> str:
            place = int(match.group(1)) - 1
            value = counts[place] if place < len(counts) else 1
            return written(
                max(value, self._first(abstract, place)), levels[place].form if place in levels else "decimal"
            )

        return re.sub(r"%([1-9])", number, pattern).strip()


def _start_overrides(num: Element) -> dict[int, int]:
    starts: dict[int, int] = {}
    for override in num.children:
        start = _number_at(override, "w:startOverride") if override.name == "w:lvlOverride" else None
        if start is not None and override.get("w:ilvl").isdecimal():
            starts[int(override.get("w:ilvl"))] = start
    return starts


def _level(level: Element) -> _Level:
    form, pattern = level.child("w:numFmt"), level.child("w:lvlText")
    start = _number_at(level, "w:start")
    return _Level(
        1 if start is None else start,
        form.get("w:val") if form is not None else "decimal",
        pattern.get("w:val") if pattern is not None else "",
        _number_at(level, "w:lvlRestart"),
    )


def written(value: int, form: str) -> str:
    """A number in the given ``w:numFmt``; forms we do not know are written as decimals."""
    if form in ("lowerLetter", "upperLetter") and 0 < value <= _MAX_LETTERS:
        letters = chr(ord("a") + (value - 1) % 26) * ((value - 1) // 26 + 1)
        return letters.upper() if form == "upperLetter" else letters
    if form in ("lowerRoman", "upperRoman") and 0 < value < 4000:
        return roman(value).upper() if form == "upperRoman" else roman(value)
    if form == "none":
        return ""
    return f"{value:02d}" if form == "decimalZero" else str(value)
