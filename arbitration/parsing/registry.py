"""Which parser reads which kind of file. A new format adds its kind to ``kinds.EXTENSIONS`` and its parser here."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from arbitration.errors import ParseFailure
from arbitration.parsing.drafts import Draft, FinishedDraft, Kind
from arbitration.parsing.finish import finish
from arbitration.parsing.kinds import detect_kind
from arbitration.parsing.limits import ParseLimits


class Parser(Protocol):
    """Reads one kind of file. Raises :class:`ParseFailure` for whatever is wrong with the file."""

    def __call__(self, path: Path, *, limits: ParseLimits, password: str | None = None) -> Draft:
        """The file's lines in reading order and the headings it knows of."""


# Imported when first used: the child that reads a text need not load PDFium.
def _pdf(path: Path, *, limits: ParseLimits, password: str | None = None) -> Draft:
    from arbitration.parsing.pdf import parse_pdf

    return parse_pdf(path, limits=limits, password=password)


def _markdown(path: Path, *, limits: ParseLimits, password: str | None = None) -> Draft:
    from arbitration.parsing.markdown import parse_markdown

    return parse_markdown(path, limits=limits, password=password)


def _text(path: Path, *, limits: ParseLimits, password: str | None = None) -> Draft:
    from arbitration.parsing.plain_text import parse_text

    return parse_text(path, limits=limits, password=password)


def _docx(path: Path, *, limits: ParseLimits, password: str | None = None) -> Draft:
    from arbitration.parsing.docx import parse_docx

    return parse_docx(path, limits=limits, password=password)


def _html(path: Path, *, limits: ParseLimits, password: str | None = None) -> Draft:
    from arbitration.parsing.html import parse_html

    return parse_html(path, limits=limits, password=password)


def _mail(path: Path, *, limits: ParseLimits, password: str | None = None) -> Draft:
    from arbitration.parsing.mail import parse_mail

    return parse_mail(path, limits=limits, password=password)


PARSERS: dict[Kind, Parser] = {
    "pdf": _pdf,
    "docx": _docx,
    "html": _html,
    "email": _mail,
    "markdown": _markdown,
    "text": _text,
}


def parse_here(
    path: Path, *, filename: str, limits: ParseLimits, password: str | None = None
) -> FinishedDraft:
    """Parse in this process, without isolation: for the child, tests and files one trusts.

    Raises :class:`ParseFailure`; besides what the parsers raise, ``too_large`` by ``limits.max_bytes``, the codes of
    :func:`~arbitration.parsing.kinds.detect_kind`, and ``no_text`` for a document without any text.
    """
    size = path.stat().st_size
    if size > limits.max_bytes:
        raise ParseFailure(
            "too_large",
            f"The file has {size / 1e6:.0f} MB; at most {limits.max_bytes / 1e6:.0f} MB are read. Split it.",
        )
    kind = detect_kind(path, filename)
    draft = PARSERS[kind](path, limits=limits, password=password)
    if not any(line.text.strip() for line in draft.lines):
        hint = (
            "It may be a scan: run text recognition (OCR) on it and upload the result."
            if kind == "pdf"
            else "Upload a file that holds text."
        )
        raise ParseFailure("no_text", f"The document holds no text. {hint}")
    return finish(draft)
