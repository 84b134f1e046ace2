"""The last steps that all formats share: sections, passages, language, title, and whether all that is too much."""

from __future__ import annotations

from arbitration.errors import ParseFailure
from arbitration.parsing.drafts import Draft, FinishedDraft
from arbitration.parsing.language import guess_language
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.passages import build_passages
from arbitration.parsing.titles import guess_title
from arbitration.parsing.toc import build_sections


def finish(draft: Draft, *, limits: ParseLimits) -> FinishedDraft:
    """Tie the draft's headings to its lines and derive what is searched. Raises :class:`ParseFailure`
    (``too_many_lines``, ``too_many_headings``, ``too_many_passages``)."""
    within_count("lines", len(draft.lines), limits.max_lines)
    within_count("headings", len(draft.toc), limits.max_headings)
    sections = build_sections(draft.toc, draft.lines)
    passages = build_passages(draft.lines)
    within_count("passages", len(passages), limits.max_passages)
    language = guess_language(line.text for line in draft.lines if line.is_body)
    return FinishedDraft(draft, guess_title(draft, sections), language, sections, passages)


def within_count(what: str, count: int, most: int) -> None:
    """Raises :class:`ParseFailure` (``too_many_lines`` and the like) for more than are read."""
    if count > most:
        raise ParseFailure(
            f"too_many_{what}",
            f"The document has {count:,} {what}; at most {most:,} are read. Split it and upload the parts, or ask the"
            " operator to allow more.",
        )
