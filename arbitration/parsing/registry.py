"""Which parser reads which kind of file. A new format adds its kind to ``kinds.EXTENSIONS`` and its parser here."""

from __future__ import annotations

from pathlib import Path

from arbitration.errors import ParseFailure, TextInImages
from arbitration.parsing.drafts import Draft, FinishedDraft, Kind
from arbitration.parsing.finish import finish
from arbitration.parsing.kinds import detect_kind
from arbitration.parsing.limits import ParseLimits, within
from arbitration.parsing.recognised import NOTHING_RECOGNISED, Recognised


def _draft_of(
    kind: Kind, data: bytes, *, limits: ParseLimits, password: str | None, recognised: Recognised
) -> Draft:
    """The file's lines in reading order and the headings its parser knows of; ``recognised`` holds what was read from
    the images of pages. Parsers are imported when first used: the child that reads a text need not load PDFium."""
    match kind:
        case "pdf":
            from arbitration.parsing.pdf import draft_of_pdf

            return draft_of_pdf(data, limits=limits, password=password, recognised=recognised)
        case "email":
            from arbitration.parsing.mail import draft_of_mail

            return draft_of_mail(data, limits=limits, password=password, recognised=recognised)
        case "docx" | "xlsx" | "pptx" | "odt" | "rtf":
            from arbitration.parsing.office import draft_of_office

            return draft_of_office(kind, data, limits=limits, password=password)
        case "msg":
            from arbitration.parsing.msg import draft_of_msg

            return draft_of_msg(data, limits=limits, password=password, recognised=recognised)
        case "image":
            from arbitration.parsing.image import draft_of_image

            return draft_of_image(data, limits=limits, recognised=recognised)
        case "html":
            from arbitration.parsing.html import decode_html, draft_of_html

            return draft_of_html(decode_html(data), limits=limits)
        case "markdown":
            from arbitration.parsing.markdown import draft_of_markdown
            from arbitration.parsing.plain_text import read_text

            return draft_of_markdown(read_text(data, limits=limits))
        case "text":
            from arbitration.parsing.plain_text import draft_of_text, read_text

            return draft_of_text(read_text(data, limits=limits))


def parse_here(
    source: Path | bytes,
    *,
    filename: str,
    limits: ParseLimits,
    password: str | None = None,
    recognised: Recognised | None = None,
    asks_for_text: bool = False,
) -> FinishedDraft:
    """Parse in this process, without isolation: for the child, which has the bytes, and for tests.

    Raises :class:`ParseFailure`; besides what the parsers raise, ``too_large`` by ``limits.max_bytes``, the codes of
    :func:`~arbitration.parsing.kinds.detect_kind`, and ``no_text`` for a document without any text. With
    ``asks_for_text``, :class:`TextInImages` where pages should be recognised and ``recognised`` is None.
    """
    data = source if isinstance(source, bytes) else source.read_bytes()
    within(limits, len(data))
    kind = detect_kind(data, filename)
    read = recognised or NOTHING_RECOGNISED
    draft = _draft_of(kind, data, limits=limits, password=password, recognised=read)
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
    return finish(draft, limits=limits)
