"""Bookmarks that name no section: page labels, file names, names that a program made up, nothing at all.

Their titles are known by their form alone. The section takes the heading that its own lines begin with.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from arbitration.parsing.drafts import DraftLine, TocEntry
from arbitration.parsing.headings import find_headings

Place = tuple[int, int]  # (page_num, line_num)

_LABEL = re.compile(
    # "Page 4", "p. iv", "Slide 12 of 30", "Sheet1", "Bookmark 3", "Untitled"
    r"(?:(?:page|p\.|pp\.|pg\.?|slide|sheet|folio|bookmark|untitled|scan|image|img|página|pág\.|hoja|diapositiva|marcador|"
    r"sin título)[\s_\-#.:]*(?:\d{1,5}|[ivxlc]{1,7})?(?:\s*(?:/|of|de)\s*\d{1,5})?)"
    # "CREATI~2": a file name of eight characters; "_Toc4711": an anchor of a word processor
    r"|\S{1,6}~\d{1,2}(?:\.\w{1,4})?"
    r"|_(?:toc|ref|hlk|goback)\w*"
    # "C:\drafts\agreement final.docx", "Exhibit 10.pdf"
    r"|.*\.(?:pdf|docx?|rtf|odt|xlsx?|pptx?|txt|html?|tiff?|jpe?g|png|indd|pmd|qxd|dwg|cdr|tmp)",
    re.IGNORECASE,
)


def names_nothing(title: str, page_num: int | None = None) -> bool:
    """Whether a bookmark's title is empty, the number of its page, or the name of a page or a file."""
    plain = title.strip()
    if not any(c.isalnum() for c in plain):
        return True
    if plain.isdecimal():
        return page_num is not None and int(plain) == page_num
    return bool(_LABEL.fullmatch(plain))


def named_by_heading(
    entries: Sequence[TocEntry], places: Sequence[Place], lines: Sequence[DraftLine]
) -> list[str]:
    """The titles of the entries that start at ``places``: of one that names nothing, the first heading between it and
    the next entry on the page where it starts; its own where there is none. One pass over headings and entries."""
    titles = [entry.title for entry in entries]
    doubtful = [
        number
        for number, entry in enumerate(entries)
        if entry.line_num is None and names_nothing(entry.title, entry.page_num)
    ]
    if not doubtful:
        return titles
    headings = [(h.page_num or 0, h.line_num or 0, h.title) for h in find_headings(lines)]
    found = [heading[:2] for heading in headings]
    order = sorted(set(places))
    for number in doubtful:
        start = places[number]
        at = bisect_left(found, start)
        following = bisect_left(order, start) + 1
        end = order[following] if following < len(order) else (start[0] + 1, 0)
        if at < len(found) and found[at] < end and found[at][0] == start[0]:
            titles[number] = headings[at][2]
    return titles
