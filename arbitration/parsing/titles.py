"""A guess at a document's title."""

from __future__ import annotations

import re
from collections.abc import Sequence

from arbitration.parsing.drafts import Draft, DraftLine, DraftSection
from arbitration.parsing.numbering import heading_number
from arbitration.parsing.toc import folded

_MAX_LENGTH = 200
_CLEARLY_LARGER = 1.18
_NO_TITLE = re.compile(
    r"^(?:microsoft word|untitled|powerpoint|layout \d|document\d*$|slide \d|report$|\d[\d\W]*$|title$|sin título)"
    r"|^(?:introduction|recitals?|abstract|contents|table of contents|between|witnesseth|for immediate release|índice|"
    r"introducción)\W*$"
    r"|^(?:exhibit|ex|annex|appendix|schedule|anexo)\b[\s.\-#:]*[\dA-Z]{0,4}(?:[.\-]\d+)*\W*$"
    r"|\.(?:docx?|pdf|indd|qxd|xlsx?|pptx?|rtf|tex|dvi|html?|pmd|p65|fm)\b",
    re.IGNORECASE,
)


def guess_title(draft: Draft, sections: Sequence[DraftSection]) -> str | None:
    """The title from metadata that the first pages confirm, else the largest type on page 1, else plausible
    metadata, else the first heading without a number."""
    stated = _plausible(draft.title)
    opening = folded(" ".join(line.text for line in draft.lines if line.page_num <= 2 and not line.is_hidden))
    if stated and folded(stated) and folded(stated) in opening:
        return stated
    shown = _plausible(_largest_on_first_page(draft.lines))
    headings = (
        _plausible(section.title) for section in sections[:4] if heading_number(section.title) is None
    )
    return shown or stated or next((heading for heading in headings if heading), None)


def _plausible(title: str | None) -> str | None:
    if not title:
        return None
    cleaned = " ".join(title.split())
    if not 3 <= len(cleaned) <= _MAX_LENGTH or _NO_TITLE.search(cleaned):
        return None
    return cleaned if sum(c.isalpha() for c in cleaned) >= 3 else None


def _largest_on_first_page(lines: Sequence[DraftLine]) -> str | None:
    """The text set largest on page 1, when it is clearly larger than what most of the page is set in."""
    page = [line for line in lines if line.page_num == 1 and line.is_body and line.is_upright and line.size]
    page = [line for line in page if sum(c.isalpha() for c in line.text) >= 3]
    page = [line for line in page if not _NO_TITLE.search(line.text)]
    if not page:
        return None
    usual = sorted(page, key=lambda line: line.size)[len(page) // 2].size
    largest = max(line.size for line in page)
    if largest < _CLEARLY_LARGER * usual and len(page) > 3:
        return None
    start = next(place for place, line in enumerate(page) if line.size > 0.97 * largest)
    parts = []
    for line in page[start : start + 4]:
        if line.size <= 0.97 * largest:
            break
        parts.append(line.text)
    return " ".join(parts)
