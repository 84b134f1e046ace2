"""Places a question names: "Article I Section 8", "14th Amendment", "clause 7.3(b)", "page 6".

References and section titles are brought to one canonical *address*, a tuple of ``kind:number`` steps, so
that finding a section is comparing tuples. Stores may keep :func:`section_address` beside each section.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from arbitration.numerals import roman_to_int
from arbitration.questions.lexicon import ORDINALS
from arbitration.questions.model import SectionReference

_KINDS: dict[str, str] = {
    "article": "article", "articles": "article", "art": "article", "artículo": "article",
    "articulo": "article",
    "amendment": "amendment", "amendments": "amendment", "enmienda": "amendment",
    "section": "section", "sections": "section", "sec": "section", "sect": "section", "sección": "section",
    "seccion": "section", "§": "section", "§§": "section", "subsection": "section",
    "clause": "clause", "clauses": "clause", "cláusula": "clause", "clausula": "clause",
    "paragraph": "paragraph", "para": "paragraph", "párrafo": "paragraph", "apartado": "paragraph",
    "rule": "rule", "rules": "rule", "regla": "rule",
    "part": "part", "parte": "part",
    "chapter": "chapter", "capítulo": "chapter", "capitulo": "chapter",
    "title": "title", "título": "title",
    "item": "item",
    "appendix": "appendix", "apéndice": "appendix",
    "annex": "annex", "anexo": "annex", "schedule": "schedule", "exhibit": "exhibit",
}  # fmt: skip

#: Kinds whose number alone tells the place: "clause 7.3" is the section headed "7.3 Termination".
_INTERCHANGEABLE = {"section", "clause", "paragraph", "rule", "number"}
_LETTERED = {"appendix", "annex", "schedule", "exhibit", "part", "item"}

_NUMBER = (
    r"(?:\d+[A-Za-z]?(?:\.\d+[A-Za-z]?)*\.?|[IVXLC]+(?![A-Za-z])|[A-Z](?![A-Za-z]))"
    r"(?:\s?\.?\([A-Za-z0-9]{1,4}\))*"
)
_KIND = "|".join(sorted((re.escape(kind) for kind in _KINDS), key=len, reverse=True))
_ORDINAL = "|".join(sorted(map(re.escape, ORDINALS), key=len, reverse=True))
_STEP = re.compile(
    rf"(?P<ordinal>(?<!\d)\d+(?:st|nd|rd|th)|{_ORDINAL})\s+(?P<named>amendment|article|section|enmienda|part|chapter)\b"
    rf"|(?<![\w§])(?P<kind>{_KIND})\.?\s*(?:no\.?\s*)?(?P<number>{_NUMBER})(?!\w)",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"(?<![\w.$€£])(?P<number>\d+(?:\.\d+){2,}(?:\([A-Za-z0-9]{1,4}\))*|\d+(?:\.\d+)*(?:\([A-Za-z0-9]{1,4}\))+)(?![\w%])"
)
_HEADING_NUMBER = re.compile(
    r"\s*(?P<number>\d+[A-Za-z]?(?:\.\d+[A-Za-z]?)*|[A-Z](?:\.\d+)+)\.?(?P<items>(?:\s?\([A-Za-z0-9]{1,4}\))*)(?=[\s.:)\-–—]|\Z)"
)
_HEADING_ITEM = re.compile(r"\s*\(([A-Za-z0-9]{1,4})\)(?=\s|\Z)")
_HEADING_ROMAN = re.compile(r"\s*(?:[IVXLC]+|[A-Z])\.(?=\s)")
_AFTER_ADDRESS = " \t.:;,)–—-"
_STEP_GAP = re.compile(r"[\s,>/]*(?:of\s+(?:the\s+)?)?\Z", re.IGNORECASE)
_ITEM = re.compile(r"\(([A-Za-z0-9]{1,4})\)")
_BREADCRUMB = re.compile(r"(?<!\s)\s+[>›»/|]\s+")
_PAGES = re.compile(
    r"\b(?:pages?|pp?\.|páginas?|paginas?|pág\.?)\s*(?P<first>\d{1,5})(?:\s*(?:-|–|to|and|a|y)\s*(?P<last>\d{1,5}))?",
    re.IGNORECASE,
)
_MAX_PAGE_SPAN = 50


def parse_references(text: str) -> tuple[tuple[SectionReference, ...], list[tuple[int, int]]]:
    """The section references of a text, with the spans they occupy (to keep them out of keywords)."""
    references: list[SectionReference] = []
    spans: list[tuple[int, int]] = []
    for start, end, steps in _runs(text):
        references += _from_steps(text[start:end], steps)
        spans.append((start, end))
    for match in _BARE.finditer(text):
        if not any(start <= match.start() < end for start, end in spans):
            references.append(SectionReference(text=match[0], address=_address("number", match["number"])))
            spans.append(match.span())
    return tuple(dict.fromkeys(references)), spans


def parse_pages(text: str) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """The pages a text names (``page 6``, ``pp. 3-5``), with their spans."""
    pages: list[int] = []
    spans: list[tuple[int, int]] = []
    for match in _PAGES.finditer(text):
        first = int(match["first"])
        last = int(match["last"]) if match["last"] else first
        pages += range(first, min(last, first + _MAX_PAGE_SPAN) + 1) if last >= first else (first, last)
        spans.append(match.span())
    return tuple(dict.fromkeys(page for page in pages if page > 0)), spans


def leading_address(title: str) -> tuple[str, ...]:
    """The address a heading begins with; empty when it begins with none."""
    for start, end, steps in _runs(title):
        if not title[:start].strip(" \t[(\"'*#"):
            references = _from_steps(title[start:end], steps)
            return references[0].address
        break
    match = _HEADING_NUMBER.match(title)
    if match:
        return _address("number", match["number"] + (match["items"] or ""))
    item = _HEADING_ITEM.match(title)
    return (f"item:{item[1].lower()}",) if item else ()


def heading_text(title: str) -> str:
    """A heading without the address it begins with: ``Powers of Congress`` of ``Article I, Section 8: Powers of
    Congress``; the whole heading when it is nothing but an address."""
    for start, end, _ in _runs(title):
        if not title[:start].strip(" \t[(\"'*#"):
            return title[end:].strip(_AFTER_ADDRESS) or title
        break
    match = _HEADING_NUMBER.match(title) or _HEADING_ITEM.match(title) or _HEADING_ROMAN.match(title)
    return (title[match.end() :].strip(_AFTER_ADDRESS) or title) if match else title


def section_address(title: str, breadcrumb: str = "") -> tuple[str, ...]:
    """The full address of a section, from its ancestors' headings down to its own."""
    steps: list[str] = []
    for part in (*_BREADCRUMB.split(breadcrumb), title):
        steps += [step for step in leading_address(part) if step not in steps]
    return tuple(steps)


def match_address(reference: Sequence[str], section: Sequence[str]) -> float:
    """How well a section answers a reference: 1.0 the section itself, .9 a part of it, .6 the section that
    holds the item named (``7.3`` for ``7.3(b)``), 0 none. Kinds of numbered text are interchangeable."""
    if not reference or not section:
        return 0.0
    position = 0
    scores: list[float] = []
    for step in reference:
        found = _find_step(step, section, position)
        if found is None:
            is_trailing_item = step.startswith("item:") and bool(scores)
            if not is_trailing_item:
                return 0.0
            return 0.6 * min(scores)
        position = found[0] + 1
        scores.append(found[1])
    return min(scores) if position == len(section) else 0.9 * min(scores)


def reference_address(reference: str) -> tuple[str, ...]:
    """The address that a written reference stands for."""
    parsed, _ = parse_references(reference)
    return parsed[0].address if parsed else leading_address(reference)


def reference_score(reference: str, *, title: str, breadcrumb: str = "") -> float:
    """:func:`match_address` for texts: what a store needs to answer ``sections_numbered``."""
    return match_address(reference_address(reference), section_address(title, breadcrumb))


def _find_step(step: str, section: Sequence[str], start: int) -> tuple[int, float] | None:
    scored = ((index, _step_score(step, section[index])) for index in range(start, len(section)))
    return next(((index, score) for index, score in scored if score), None)


def _step_score(step: str, other: str) -> float:
    kind, _, number = step.partition(":")
    other_kind, _, other_number = other.partition(":")
    same_kind = kind == other_kind or {kind, other_kind} <= _INTERCHANGEABLE
    if not same_kind and not ("number" in (kind, other_kind) and "." in number and kind != "item"):
        return 0.0
    if number == other_number:
        return 1.0
    return 0.9 if "." in other_number and other_number.startswith(f"{number}.") else 0.0


def _runs(text: str) -> list[tuple[int, int, list[re.Match[str]]]]:
    """Consecutive steps, such as ``Article I, Section 8``, grouped as (start, end, steps)."""
    runs: list[tuple[int, int, list[re.Match[str]]]] = []
    for match in _STEP.finditer(text):
        if not _plausible(match):
            continue
        start, end, steps = runs[-1] if runs else (0, 0, [])
        if (
            steps
            and _STEP_GAP.match(text[end : match.start()])
            and _kind_of(match) not in map(_kind_of, steps)
        ):
            runs[-1] = (start, match.end(), [*steps, match])
        else:
            runs.append((match.start(), match.end(), [match]))
    return runs


def _kind_of(match: re.Match[str]) -> str:
    return _KINDS[(match["named"] or match["kind"]).lower()]


def _plausible(match: re.Match[str]) -> bool:
    """``part A`` is a place; ``section I`` in "the section I read" is not, nor is ``part a``."""
    if match["named"]:
        return True
    number = match["number"]
    if number[0].isdigit():
        return True
    if not number[0].isupper():
        return False
    base = number.split("(")[0].strip()
    if len(base) == 1 and _kind_of(match) not in _LETTERED:
        return base in "IVX" and match["kind"][0].isupper()
    return True


def _from_steps(text: str, steps: Sequence[re.Match[str]]) -> list[SectionReference]:
    ordered = list(steps)
    joined = " of " in f" {text.lower()} " and len(steps) > 1
    if joined:  # "Section 8 of Article I" names the whole last
        ordered.reverse()
    address: list[str] = []
    for match in ordered:
        number = match["ordinal"] or match["number"]
        address += _address(_kind_of(match), number)
    return [SectionReference(text=text.strip(), address=tuple(address))]


def _address(kind: str, number: str) -> tuple[str, ...]:
    items = [f"item:{item.lower()}" for item in _ITEM.findall(number)]
    return (f"{kind}:{_canonical_number(kind, _ITEM.sub('', number))}", *items)


def _canonical_number(kind: str, number: str) -> str:
    plain = number.strip().strip(".").lower().replace(" ", "")
    if plain in ORDINALS:
        return str(ORDINALS[plain])
    ordinal = re.fullmatch(r"(\d+)(?:st|nd|rd|th)", plain)
    if ordinal:
        return ordinal[1]
    if kind in {"appendix", "exhibit"} and len(plain) == 1:
        return plain
    value = roman_to_int(plain) if plain.isalpha() else None
    return str(value) if value is not None else plain
