"""The last steps that all formats share: sections, passages, language, title."""

from __future__ import annotations

from arbitration.parsing.drafts import Draft, FinishedDraft
from arbitration.parsing.language import guess_language
from arbitration.parsing.passages import build_passages
from arbitration.parsing.titles import guess_title
from arbitration.parsing.toc import build_sections


def finish(draft: Draft) -> FinishedDraft:
    """Tie the draft's headings to its lines and derive what is searched."""
    sections = build_sections(draft.toc, draft.lines)
    language = guess_language(line.text for line in draft.lines if line.is_body)
    return FinishedDraft(draft, guess_title(draft, sections), language, sections, build_passages(draft.lines))
