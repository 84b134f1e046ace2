"""What kind of file this is: its first bytes and its name must agree."""

from __future__ import annotations

import re
from pathlib import PurePath

from arbitration.errors import ParseFailure
from arbitration.parsing.drafts import Kind

_HEAD = 4096
_BLANK = b"\x00 \t\r\n\x0c"
_PDF_WITHIN = 1024  # ISO 32000-1, annex H: the header may stand within the first 1024 bytes
EXTENSIONS: dict[str, Kind] = {
    ".pdf": "pdf",
    ".docx": "docx",
    ".xlsx": "xlsx",
    ".pptx": "pptx",
    ".odt": "odt",
    ".rtf": "rtf",
    ".msg": "msg",
    ".png": "image",
    ".jpg": "image",
    ".jpeg": "image",
    ".tif": "image",
    ".tiff": "image",
    ".html": "html",
    ".htm": "html",
    ".eml": "email",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP or Office file"),
    (b"PK\x05\x06", "a ZIP file"),
    (_OLE, "an older or encrypted Office file"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"{\\rtf", "an RTF file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"%!PS", "a PostScript file"),
)
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*")
#: How files of a kind begin, and what to call them. OLE: also the container of an encrypted Office file.
_BEGINNINGS: dict[Kind, tuple[tuple[bytes, ...], str]] = {
    "docx": ((b"PK\x03\x04", _OLE), "Word document"),
    "xlsx": ((b"PK\x03\x04", _OLE), "Excel workbook"),
    "pptx": ((b"PK\x03\x04", _OLE), "PowerPoint file"),
    "odt": ((b"PK\x03\x04",), "OpenDocument text"),
    "rtf": ((b"{\\rtf",), "rich text file"),
    "msg": ((_OLE,), "Outlook message"),
    "image": (_IMAGES, "PNG, JPEG or TIFF image"),
}
_FIELD = re.compile(rb"[!-9;-~]{1,80}[ \t]*:")
_UTF_MARKS = (b"\xff\xfe", b"\xfe\xff")


def detect_kind(data: bytes, filename: str) -> Kind:
    """The kind of a file, given as its bytes.

    Raises :class:`ParseFailure`: ``empty``, ``unsupported_type`` (by extension) or ``type_mismatch`` (name and
    content disagree).
    """
    head = data[:_HEAD]
    if not head.strip(_BLANK) and not data.strip(_BLANK):
        raise ParseFailure("empty", "The file is empty. Upload one that holds text.")
    extension = PurePath(filename).suffix.lower()
    kind = EXTENSIONS.get(extension)
    if kind is None:
        accepted = ", ".join(sorted(EXTENSIONS))
        named = f'"{extension}" files' if extension else "files without an extension"
        raise ParseFailure("unsupported_type", f"{named} cannot be read. Accepted are {accepted}.")
    _check(kind, extension, head)
    return kind


def _check(kind: Kind, extension: str, head: bytes) -> None:
    is_pdf = b"%PDF" in head[: _PDF_WITHIN + 4]
    if kind in _BEGINNINGS:
        beginnings, named = _BEGINNINGS[kind]
        if not head.startswith(beginnings):
            raise ParseFailure(
                "type_mismatch",
                f"The name says {extension[1:].upper()}, but it is no {named}. Upload it under its real type.",
            )
        return
    if kind == "pdf":
        if not is_pdf:
            actual = _named(head)
            looks = f"it looks like {actual}" if actual else "its content is something else"
            raise ParseFailure(
                "type_mismatch", f"The name says PDF, but {looks}. Upload it under its real type."
            )
        return
    if kind == "email" and not _is_message(head):
        raise ParseFailure(
            "type_mismatch", "The name says EML, but it is no e-mail message. Export it again as .eml."
        )
    if head.startswith(b"%PDF-"):
        raise ParseFailure("type_mismatch", f"The name says {extension}, but it is a PDF. Rename it to .pdf.")
    actual = _named(head)
    if actual is not None:
        raise ParseFailure("type_mismatch", f"The name says {extension}, but it looks like {actual}.")
    if b"\x00" in head and not head.startswith(_UTF_MARKS) and not head.startswith(b"\x00\x00\xfe\xff"):
        raise ParseFailure("type_mismatch", f"The name says {extension}, but it holds binary data.")


def _is_message(head: bytes) -> bool:
    """Whether the file begins like RFC 5322: header fields, a name and a colon each."""
    lines = head.lstrip(b"\xef\xbb\xbf \t\r\n").splitlines()
    if lines and lines[0].startswith(b"From "):  # the envelope line of a mailbox file
        lines = lines[1:]
    return bool(lines) and _FIELD.match(lines[0]) is not None


def _named(head: bytes) -> str | None:
    return next((name for signature, name in _SIGNATURES if head.startswith(signature)), None)
