"""HTML to lines and headings. Nothing is fetched and nothing runs: scripts, frames, pictures and links stay unopened.

A tolerant reader of events, not a browser: it knows blocks, headings, lists and tables, and which text is hidden.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from arbitration.errors import ParseFailure
from arbitration.parsing.docx_styles import written
from arbitration.parsing.drafts import Draft
from arbitration.parsing.flow import Flow
from arbitration.parsing.flow_headings import Candidate, candidate_of, usable_headings
from arbitration.parsing.html_hidden import HiddenRules, declarations, hides
from arbitration.parsing.limits import ParseLimits

MAX_DEPTH = 2_000
_VOID = frozenset(
    "area base br col embed frame hr img input keygen link meta param source track wbr".split()  # noqa: SIM905
)
_DROPPED = frozenset(
    """
    script style template iframe object applet svg canvas audio video head noembed noframes
    """.split()  # noqa: SIM905
)
_BLOCKS = frozenset(
    """
    address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer form
    header hgroup hr html legend li main menu nav ol optgroup option p pre section select summary textarea ul
    h1 h2 h3 h4 h5 h6
    """.split()  # noqa: SIM905
)
_CLOSES: dict[str, frozenset[str]] = {
    "li": frozenset({"li", "p"}),
    "dt": frozenset({"dt", "dd", "p"}),
    "dd": frozenset({"dt", "dd", "p"}),
    "tr": frozenset({"tr", "td", "th", "p"}),
    "td": frozenset({"td", "th", "p"}),
    "th": frozenset({"td", "th", "p"}),
    "option": frozenset({"option"}),
}
_SCOPES = frozenset({"table", "ul", "ol", "dl", "select", "html", "body"})
_BOLD = frozenset({"b", "strong", "th"})
_STYLE, _STYLE_END = re.compile(r"<style\b", re.IGNORECASE), re.compile("</style", re.IGNORECASE)
_LEVEL = re.compile(r"^h([1-6])$")
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w-]{2,30})", re.IGNORECASE)
_XML_CHARSET = re.compile(rb"^<\?xml[^>]{0,100}encoding\s*=\s*[\"']([\w-]{2,30})", re.IGNORECASE)
_PLAIN_CODEC = re.compile(
    r"^(?:utf-?8|utf-?16(?:le|be)?|(?:iso-?)?8859-\d{1,2}|iso-8859-\d{1,2}|latin-?\d|windows-\d{3,4}|cp\d{3,4}|us-ascii|ascii"
    r"|shift[_-]jis|euc-(?:jp|kr)|gb(?:k|2312|18030)|big5|koi8-[ru]|macintosh)$",
    re.IGNORECASE,
)
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_LONG_CELL = 300  # characters


def decode_html(data: bytes, *, charset: str = "") -> str:
    """The text by byte order mark, ``charset`` (from a header), the page's own word, UTF-8, else Windows-1252."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").lstrip("\ufeff")
    stated = _CHARSET.search(data[:4096]) or _XML_CHARSET.match(data[:200])
    for name in (charset, stated.group(1).decode("ascii") if stated is not None else ""):
        if name and _PLAIN_CODEC.match(name):
            try:
                return data.decode(name)
            except (UnicodeDecodeError, LookupError):
                continue
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def draft_of_html(text: str, *, limits: ParseLimits) -> Draft:
    """Lines, virtual pages and headings. Raises :class:`ParseFailure` (``too_large``)."""
    flow = Flow("html", limits.max_characters)
    reader = HtmlReader(flow)
    reader.read(text)
    toc, source = usable_headings(flow, reader.candidates)
    return Draft("html", flow.pages, flow.lines, toc, source, reader.title, list(reader.warnings()))


@dataclass(slots=True)
class _Block:
    """Text between two block boundaries."""

    text: str
    hidden: str = ""
    level: int | None = None
    bold: bool = False
    run_in: str = ""
    furniture: bool = False


@dataclass(slots=True)
class _Open:
    """An open element and what it turns on for what is inside."""

    tag: str
    hidden: bool = False
    bold: bool = False
    furniture: bool = False
    level: int | None = None


@dataclass(slots=True)
class _Table:
    rows: list[list[list[_Block | _Table]]] = field(default_factory=list)
    hidden: bool = False

    @property
    def is_layout(self) -> bool:
        """Whether the table only places blocks: one column, headings or tables inside, cells of much text."""
        if all(len(row) <= 1 for row in self.rows):
            return True
        return any(_is_layout_cell(cell) for row in self.rows for cell in row)


def _is_layout_cell(cell: Sequence[_Block | _Table]) -> bool:
    blocks = [item for item in cell if isinstance(item, _Block)]
    if len(blocks) < len(cell) or any(block.level for block in blocks):
        return True
    return len(blocks) > 2 and sum(len(block.text) for block in blocks) > _LONG_CELL


class HtmlReader(HTMLParser):
    """Collects blocks and tables, and writes them to a flow. Raises ``too_large`` beyond ``MAX_DEPTH``."""

    def __init__(self, flow: Flow) -> None:
        super().__init__(convert_charrefs=True)
        self.candidates: list[Candidate] = []
        self.title: str | None = None
        self._flow = flow
        self._rules = HiddenRules()
        self._open: list[_Open] = []
        self._dropped: list[str] = []
        self._tables: list[_Table] = []
        self._lists: list[tuple[str, int]] = []
        self._label = ""
        self._words: list[tuple[str, bool, bool]] = []  # text, hidden, bold
        self._title_words: list[str] | None = None
        self._scripts = 0
        self._hidden = 0

    def read(self, text: str) -> None:
        """The whole page."""
        for sheet in _sheets(text[:2_000_000]):
            self._rules.add_sheet(sheet)  # before the text: a rule may stand below what it hides
        self.feed(text)
        self.close()
        self._flush()
        while self._tables:
            self._end_table()

    def warnings(self) -> Iterator[str]:
        """What people are told."""
        if self._scripts:
            yield f"the page holds {self._scripts} scripts; they were not run, and text that they would add is missing"
        if self._hidden:
            yield f"{self._hidden} passages are hidden from a reader of the page; they are flagged and not searched"
        if self._flow.invisible_characters:
            yield f"{self._flow.invisible_characters} invisible characters were left out"

    # --- events of the parser

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        if tag == "title" and self.title is None and "svg" not in self._dropped:
            self._title_words = []
        if tag == "script":
            self._scripts += 1
        if tag in _DROPPED and tag != "head":
            self._dropped.append(tag)
        if self._dropped:
            return
        self._implied_ends(tag)
        if tag in _BLOCKS or tag in ("table", "tr", "td", "th", "caption"):
            self._flush()
        if tag == "br":
            self._words.append(("\n", self._is_hidden, False))
        if tag in _VOID:
            return
        if len(self._open) >= MAX_DEPTH:
            raise ParseFailure("too_large", "The page is nested too deeply to be read.")
        self._open.append(self._element(tag, {name: value or "" for name, value in attrs}))
        self._begin(tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """``<div/>`` is an opening tag in HTML; only void elements close themselves."""
        self.handle_starttag(tag, attrs)
        if tag in _DROPPED and tag == "svg":
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """An element ends, and with it whatever was left open inside."""
        if tag == "title" and self._title_words is not None:
            self.title = " ".join("".join(self._title_words).split()) or None
            self._title_words = None
        if self._dropped:
            if tag in self._dropped:
                del self._dropped[len(self._dropped) - 1 - self._dropped[::-1].index(tag) :]
            return
        if tag == "p" and not any(item.tag == "p" for item in self._open):
            self._flush()
        place = next((n for n in range(len(self._open) - 1, -1, -1) if self._open[n].tag == tag), None)
        if place is None:
            return
        if tag not in ("table", "html", "body") and any(
            item.tag == "table" for item in self._open[place + 1 :]
        ):
            return  # what a table holds does not end what the table is in
        self._close_down_to(place)

    def handle_data(self, data: str) -> None:
        """Text."""
        if self._title_words is not None:
            self._title_words.append(data)
        elif not self._dropped and not any(item.tag == "head" for item in self._open[:3]):
            is_pre = any(item.tag in ("pre", "textarea") for item in self._open[-6:])
            kept = data if is_pre else data.replace("\n", " ").replace("\r", " ")
            self._words.append((kept, self._is_hidden, any(item.bold for item in self._open[-12:])))

    def parse_html_declaration(self, i: int) -> int:
        """``<!doctype>`` and ``<![CDATA[`` say nothing here; the library's own reading of the latter can fail."""
        return self.parse_comment(i) if self.rawdata.startswith("<!--", i) else self.parse_bogus_comment(i)

    # --- elements

    @property
    def _is_hidden(self) -> bool:
        return bool(self._open) and self._open[-1].hidden

    def _element(self, tag: str, attributes: dict[str, str]) -> _Open:
        outer = self._open[-1] if self._open else _Open("")
        style = declarations(attributes.get("style", ""))
        hidden = (
            outer.hidden
            or ("hidden" in attributes and attributes["hidden"].casefold() != "until-found")
            or hides(style)
            or tag == "noscript"
            or self._rules.match(tag, attributes.get("class", "").split()[:20], attributes.get("id", ""))
        )
        weight = style.get("font-weight", "")
        bold = tag in _BOLD or weight in ("bold", "bolder", "600", "700", "800", "900")
        level = _LEVEL.match(tag)
        stated = attributes.get("aria-level", "2") if attributes.get("role") == "heading" else ""
        return _Open(
            tag,
            hidden,
            bold,
            outer.furniture or tag == "nav" or attributes.get("role") == "navigation",
            int(level.group(1)) if level else int(stated) if re.fullmatch("[1-6]", stated) else None,
        )

    def _implied_ends(self, tag: str) -> None:
        closes = _CLOSES.get(tag, frozenset({"p"}) if tag in _BLOCKS or tag == "table" else frozenset())
        if not closes:
            return
        for place in range(len(self._open) - 1, -1, -1):
            name = self._open[place].tag
            if name in closes:
                self._close_down_to(place)
                if tag in ("tr", "td", "th") and self._tables and name != "tr":
                    self._implied_ends(tag)
                return
            if name in _SCOPES:
                return

    def _close_down_to(self, place: int) -> None:
        for item in reversed(self._open[place:]):
            if item.tag in _BLOCKS or item.level or item.tag in ("td", "th", "tr", "table", "caption"):
                self._flush()
            if item.tag == "table":
                self._end_table()
            elif item.tag in ("ul", "ol") and self._lists:
                self._lists.pop()
            self._open.pop()

    def _begin(self, tag: str, attributes: dict[str, str | None]) -> None:
        if tag == "table":
            self._tables.append(_Table(hidden=self._is_hidden))
        elif tag == "tr" and self._tables:
            self._tables[-1].rows.append([])
        elif tag in ("td", "th") and self._tables:
            table = self._tables[-1]
            if not table.rows:
                table.rows.append([])
            table.rows[-1].append([])
        elif tag in ("ul", "ol"):
            start = attributes.get("start") or "1"
            form = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
            kind = form.get(attributes.get("type") or "", "decimal") if tag == "ol" else "bullet"
            self._lists.append((kind, int(start) if re.fullmatch(r"\d{1,6}", start) else 1))
        elif tag == "li":
            self._label = self._next_label()

    def _next_label(self) -> str:
        if not self._lists or self._lists[-1][0] == "bullet":
            return "•"
        kind, number = self._lists[-1]
        self._lists[-1] = (kind, number + 1)
        return f"{written(number, kind)}."

    # --- blocks and tables

    def _flush(self) -> None:
        """The words since the last boundary become a block."""
        words, self._words = self._words, []
        visible = [(text, bold) for text, hidden, bold in words if not hidden]
        text = "".join(part for part, _ in visible)
        hidden = " ".join("".join(part for part, is_hidden, _ in words if is_hidden).split())
        if not text.strip() and not hidden:
            return
        label, self._label = (self._label, "") if text.strip() else ("", self._label)
        lettered = [bold for part, bold in visible if any(c.isalpha() for c in part)]
        level = next((item.level for item in reversed(self._open) if item.level), None)
        block = _Block(
            f"{label} {text.lstrip()}" if label else text,
            hidden,
            level,
            bool(lettered) and all(lettered),
            _run_in(visible),
            bool(self._open) and self._open[-1].furniture,
        )
        table = self._tables[-1] if self._tables else None
        if table is not None and table.rows and table.rows[-1]:
            table.rows[-1][-1].append(block)
        else:
            self._emit(block)

    def _end_table(self) -> None:
        table = self._tables.pop()
        outer = self._tables[-1] if self._tables else None
        if outer is not None and outer.rows and outer.rows[-1]:
            outer.rows[-1][-1].append(table)
        else:
            self._emit_table(table)

    def _emit_table(self, table: _Table) -> None:
        if table.is_layout:
            for item in (item for row in table.rows for cell in row for item in cell):
                if isinstance(item, _Table):
                    self._emit_table(item)
                else:
                    self._emit(item)
            return
        for row in table.rows:
            blocks = [[item for item in cell if isinstance(item, _Block)] for cell in row]
            self._flow.add_row(" ".join(block.text for block in cell).replace("\n", " ") for cell in blocks)
            for block in (block for cell in blocks for block in cell if block.hidden):
                self._emit_hidden(block)

    def _emit(self, block: _Block) -> None:
        has_letters = any(c.isalpha() for c in block.text)
        line = self._flow.add(
            block.text,
            level=block.level if has_letters and not block.furniture else None,
            bold=block.bold,
            furniture=block.furniture,
        )
        if line is not None and not block.furniture:
            self.candidates.append(
                candidate_of(
                    line,
                    block.text,
                    run_in=block.run_in,
                    bold=block.bold or bool(block.run_in),
                    is_bullet=block.text.lstrip().startswith("•"),
                )
            )
        if block.hidden:
            self._emit_hidden(block)

    def _emit_hidden(self, block: _Block) -> None:
        self._hidden += 1
        self._flow.add(block.hidden, hidden=True)


def _run_in(visible: Sequence[tuple[str, bool]]) -> str:
    """Bold words at the start that end like a title, followed by plain text; else empty."""
    title = ""
    for place, (text, bold) in enumerate(visible):
        if any(c.isalnum() for c in text) and not bold:
            rest = "".join(part for part, _ in visible[place:]).lstrip()
            title = " ".join(title.split())
            ends = title.endswith((".", ":")) or rest[:1] in (".", ":", "–", "—")
            return title.rstrip(" .:–—") if ends and 3 <= len(title) <= 110 else ""
        title += text
    return ""


def _sheets(text: str) -> Iterator[str]:
    """What stands in each ``style`` element that has an end."""
    place = 0
    while opening := _STYLE.search(text, place):
        start = text.find(">", opening.end()) + 1
        closing = _STYLE_END.search(text, start) if start else None
        if closing is None:
            return
        yield text[start : closing.start()]
        place = closing.end()
