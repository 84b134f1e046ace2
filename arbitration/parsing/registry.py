"""Which parser reads which kind of file. A new format adds its kind to ``kinds.EXTENSIONS`` and its parser here."""

from __future__ import annotations

from pathlib import Path

from arbitration.errors import ParseFailure, TextInImages
from arbitration.parsing.drafts import Draft, FinishedDraft, Kind
from arbitration.parsing.finish import finish
from arbitration.parsing.kinds import detect_kind
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.recognised import NOTHING_RECOGNISED, Recognised


def _draft_of(
    kind: Kind, path: Path, *, limits: ParseLimits, password: str | None, recognised: Recognised
) -> Draft:
    """The file's lines in reading order and the headings its parser knows of; ``recognised`` holds what was read from
    the images of pages. Parsers are imported when first used: the child that reads a text need not load PDFium."""
    match kind:
        case "pdf":
            from arbitration.parsing.pdf import parse_pdf

            return parse_pdf(path, limits=limits, password=password, recognised=recognised)
        case "email":
            from arbitration.parsing.mail import parse_mail

            return parse_mail(path, limits=limits, password=password, recognised=recognised)
        case "docx":
            from arbitration.parsing.docx import parse_docx

            return parse_docx(path, limits=limits, password=password)
        case "html":
            from arbitration.parsing.html import parse_html

            return parse_html(path, limits=limits, password=password)
        case "markdown":
            from arbitration.parsing.markdown import parse_markdown

            return parse_markdown(path, limits=limits, password=password)
        case "text":
            from arbitration.parsing.plain_text import parse_text

            return parse_text(path, limits=limits, password=password)


def parse_here(
    path: Path,
    *,
    filename: str,
    limits: ParseLimits,
    password: str | None = None,
    recognised: Recognised | None = None,
    asks_for_text: bool = False,
) -> FinishedDraft:
    """Parse in this process, without isolation: for the child, tests and files one trusts.

    Raises :class:`ParseFailure`; besides what the parsers raise, ``too_large`` by ``limits.max_bytes``, the codes of
    :func:`~arbitration.parsing.kinds.detect_kind`, and ``no_text`` for a document without any text. With
    ``asks_for_text``, :class:`TextInImages` where pages should be recognised and ``recognised`` is None.
    """
    size = path.stat().st_size
    if size > limits.max_bytes:
        raise ParseFailure(
            "too_large",
            f"The file has {size / 1e6:.0f} MB; at most {limits.max_bytes / 1e6:.0f} MB are read. Split it.",
        )
    kind = detect_kind(path, filename)
    read = recognised or NOTHING_RECOGNISED
    draft = _draft_of(kind, path, limits=limits, password=password, recognised=read)
    if draft.unread and asks_for_text and recognised is None:
        raise TextInImages(draft.unread)
    if not any(line.text.strip() for line in draft.lines):
        hint = (
            "None was found on the images of its pages either."
            if draft.unread
            else "Its pages are blank."
            if kind == "pdf"
            else "Upload a file that holds text."
        )
        raise ParseFailure("no_text", f"The document holds no text. {hint}")
    return finish(draft)
