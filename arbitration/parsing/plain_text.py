"""Plain text to lines, virtual pages and, where they are plain, headings."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise

from arbitration.errors import ParseFailure
from arbitration.parsing.clauses import find_clauses, find_numbered
from arbitration.parsing.drafts import Draft, DraftLine, DraftPage, TocEntry
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.numbering import heading_number, is_list_item, is_upper_case
from arbitration.parsing.offsets import MAX_LINE, TextLine, text_lines

_MAX_HEADING = 90  # characters
_MAX_SHARE = 0.2  # of the lines; more "headings" than that are something else
_FEW_HEADINGS = 6  # which a short text may have all the same
_MIN_HEADINGS = 2
_PAGE_NUMBER = re.compile(
    r"^\W{0,3}(?:page|página|pág\.)?\s*(?P<number>\d{1,4})(?:\s*(?:of|de|/)\s*\d{1,4})?\W{0,3}$",
    re.IGNORECASE,
)
_MIN_PAGE_NUMBERS = 3
_BESIDE_SHARE = 0.6  # of a line's occurrences that stand next to a page number
_SIGNATURE = re.compile(
    r"/s/|^(?:by|name|title|date|signature|signed|attest|witness|per|its|firma|nombre|fecha)\s*:",
    re.IGNORECASE,
)
_NOT_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_UNDERLINE = re.compile(r"^(?:={3,}|-{3,}|~{3,}|_{3,}|\*{3,})$")
# Where line breaks were lost, a clause begins after the end of the one before.
_CLAUSE_ENDS = (".", ";", ":", "”", '"', ")")
_LEADERS = re.compile(r"\.{4,}|_{3,}|(?<!\s)\s{4,}+\S+$")
_BINARY_SHARE = 0.02


def decode(data: bytes) -> str:
    """The text of a file: UTF-8, UTF-16 or UTF-32 by byte order mark, else UTF-8, else Windows-1252.

    A byte order mark is dropped for UTF-16 and UTF-32 and kept for UTF-8, so that offsets are those of the file read
    as UTF-8. Raises :class:`ParseFailure` (``type_mismatch``) for binary content.
    """
    text = _decoded(data)
    strange = len(_NOT_TEXT.findall(text[:100_000]))
    if strange > max(2, _BINARY_SHARE * len(text[:100_000])):
        raise ParseFailure(
            "type_mismatch",
            "The file is named like a text but holds binary data. Upload it under its real type.",
        )
    return text


def _decoded(data: bytes) -> str:
    for mark, encoding in (
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def read_text(data: bytes, *, limits: ParseLimits) -> str:
    """The decoded file. Raises ``too_large`` beyond ``limits.max_characters`` and what :func:`decode` raises."""
    text = decode(data)
    if len(text) > limits.max_characters:
        raise ParseFailure(
            "too_large",
            f"The text has {len(text):,} characters; at most {limits.max_characters:,} are read. Split the file.",
        )
    return text


def draft_of_text(text: str) -> Draft:
    """Lines, pages and headings of a plain text."""
    spans = text_lines(text)
    lines = [
        DraftLine(
            span.page_num,
            _NOT_TEXT.sub("\ufffd", text[span.start : span.end]),
            span.line_num,
            parsing_method="text",
        )
        for span in spans
    ]
    for line, span in zip(lines, spans, strict=True):
        line.starts_block = span.starts_block or (span.start == span.row_start and is_list_item(line.text))
    _mark_page_ends(spans, lines)
    toc = _headings(spans, lines)
    pages = [DraftPage(number) for number, _ in groupby(span.page_num for span in spans)]
    return Draft("text", pages, lines, toc, "headings" if toc else "none", _title(lines, toc))


def _title(lines: Sequence[DraftLine], toc: Sequence[TocEntry]) -> str | None:
    """The first line when it is short and stands by itself."""
    if not lines or (toc and toc[0].line_num == lines[0].line_num and toc[0].page_num == lines[0].page_num):
        return None
    first = lines[0].text
    alone = len(lines) == 1 or lines[1].starts_block
    return first if alone and len(first) <= _MAX_HEADING and not first.endswith((".", ",", ";")) else None


def _mark_page_ends(spans: Sequence[TextLine], lines: Sequence[DraftLine]) -> None:
    """Flag page numbers that count up by one, and the words that keep coming right beside them."""
    alone = [
        place
        for place, span in enumerate(spans)
        if span.start == span.row_start and span.end == span.row_end and span.starts_block
    ]
    numbered = [
        (place, int(match.group("number")))
        for place in alone
        if (match := _PAGE_NUMBER.match(lines[place].text)) is not None
    ]
    ends: set[int] = set()
    for (place, number), (following, next_number) in pairwise(numbered):
        if next_number == number + 1:
            ends.update((place, following))
    if len(ends) < _MIN_PAGE_NUMBERS:
        return
    times = Counter(lines[place].text for place in alone)
    beside = Counter(lines[place].text for place in alone if ends & {place - 1, place + 1})
    for place in alone:
        words = lines[place].text
        runs = times[words] >= _MIN_PAGE_NUMBERS and beside[words] >= _BESIDE_SHARE * times[words]
        lines[place].is_furniture = place in ends or (runs and len(words) <= MAX_LINE)


def _headings(spans: Sequence[TextLine], lines: Sequence[DraftLine]) -> list[TocEntry]:
    """Headings that stand alone, with run-in clause headings below them."""
    alone = {
        place: key for place in range(len(lines)) if (key := _heading_key(spans, lines, place)) is not None
    }
    if len(alone) < _MIN_HEADINGS or len(alone) > max(_FEW_HEADINGS, _MAX_SHARE * len(lines)):
        alone = {}
    clauses = {
        clause.key: clause
        for clause in find_clauses(
            (place, line.text) for place, line in enumerate(lines) if line.starts_block
        )
    }
    keyed: list[tuple[tuple[int, int, int], TocEntry]] = []
    for place in sorted({*alone, *clauses}):
        line, clause = lines[place], clauses.get(place)
        if clause is not None and (place not in alone or len(line.text) > _MAX_HEADING):
            key, title = (10, 0, clause.depth), clause.title
        else:
            key, title = alone[place], line.text.strip(" .:")
        keyed.append((key, TocEntry(title, 1, line.page_num, line_num=line.line_num)))
    return _levelled(keyed if len(keyed) >= _MIN_HEADINGS else _numbered(lines))


def _numbered(lines: Sequence[DraftLine]) -> list[tuple[tuple[int, int, int], TocEntry]]:
    """Clauses by their numbers alone, where the text shows no headings: with titles if they have them."""
    starts = [
        (place, line.text)
        for place, line in enumerate(lines)
        if line.starts_block or place == 0 or lines[place - 1].text.endswith(_CLAUSE_ENDS)
    ]
    clauses = find_clauses(starts)
    if len(clauses) < _FEW_HEADINGS:
        clauses = max(clauses, find_numbered(starts), key=len)
    return [
        (
            (10, 0, clause.depth),
            TocEntry(clause.title, 1, lines[clause.key].page_num, line_num=lines[clause.key].line_num),
        )
        for clause in clauses
    ]


def _levelled(keyed: Sequence[tuple[tuple[int, int, int], TocEntry]]) -> list[TocEntry]:
    """Entries with levels from the order of their keys: a greater key lies below a smaller one."""
    open_keys: list[tuple[int, int, int]] = []
    for key, entry in keyed:
        while open_keys and open_keys[-1] >= key:
            open_keys.pop()
        open_keys.append(key)
        entry.level = len(open_keys)
    return [entry for _, entry in keyed]


def _heading_key(
    spans: Sequence[TextLine], lines: Sequence[DraftLine], place: int
) -> tuple[int, int, int] | None:
    """How high the heading at ``place`` ranks (smaller is higher), None when the line is no heading."""
    span, text = spans[place], lines[place].text
    if lines[place].is_furniture or _SIGNATURE.search(text):
        return None
    if span.start != span.row_start or span.end != span.row_end or not span.starts_block:
        return None
    if len(text) > _MAX_HEADING or _LEADERS.search(text) or sum(c.isalpha() for c in text) < 3:
        return None
    if place + 1 < len(lines) and _UNDERLINE.match(lines[place + 1].text):
        return (0, 0, 0)
    ends = place + 1 == len(lines) or spans[place + 1].starts_block
    number = heading_number(text)
    if (
        number is not None
        and number.is_named
        and not text.endswith((".", ",", ";"))
        and len(text.split()) <= 12
    ):
        return (1 + number.rank, 0, number.depth)
    if not ends or text.endswith((",", ";")):
        return None
    if is_upper_case(text) and len(text.split()) <= 12:
        return (10, 0, number.depth) if number is not None else (9, 0, 0)
    if (
        number is not None
        and not number.text.rstrip().endswith(")")
        and _is_short_title(text[len(number.text) :])
    ):
        return (10, 0, number.depth)
    return None


def _is_short_title(text: str) -> bool:
    words = text.split()
    return 0 < len(words) <= 8 and words[0][:1].isupper() and not text.rstrip().endswith((".", ":", "?"))
