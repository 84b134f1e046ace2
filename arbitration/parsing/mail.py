"""E-mail (RFC 5322 and MIME) to lines and headings: headers, body, then each attachment as a part of its own.

Attachments are parsed here, within the limits of the whole message; one that cannot be read is named with the reason
and costs nothing else. Remote pictures and links of an HTML body are not fetched.
"""

from __future__ import annotations

import email
import email.errors
import email.policy
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from email.header import decode_header, make_header
from email.message import Message
from pathlib import PurePosixPath

from arbitration.errors import ParseFailure
from arbitration.parsing.drafts import Draft, DraftLine, DraftPage, Kind, TocEntry
from arbitration.parsing.flow import Flow
from arbitration.parsing.html import HtmlReader, decode_html, draft_of_html
from arbitration.parsing.kinds import EXTENSIONS, detect_kind
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.plain_text import decode, draft_of_text
from arbitration.parsing.recognised import NOTHING_RECOGNISED, Recognised

MAX_NESTED = 3  # messages inside messages
MAX_PARTS = 200
MAX_ATTACHMENTS = 50
_SHOWN_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_MAX_HEADER = 2_000  # characters
_WORD = re.compile(r"\w{3,}")
_MIN_WORDS = 20
_DIFFERENT = 0.4  # shared words of the two forms of a body, below which they say different things
_EXTENSION_OF = {
    "application/pdf": ".pdf",
    "text/html": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "message/rfc822": ".eml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/rtf": ".rtf",
    "application/vnd.ms-outlook": ".msg",
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/tiff": ".tiff",
}


# What the standard library raises on headers and bodies that break their rules.
TOLERATED = (ValueError, LookupError, TypeError, RecursionError, email.errors.MessageError)
_PdfReader = Callable[[bytes, ParseLimits, str | None, Recognised], Draft]


@dataclass(slots=True)
class Attachment:
    """A part of a message that is a file of its own."""

    name: str
    data: bytes
    is_inline: bool = False


@dataclass(frozen=True, slots=True)
class PageSource:
    """Where a page of the message can be drawn from: a page (1-based) of an attached PDF."""

    pdf: bytes
    page_num: int


@dataclass(slots=True)
class _Parts:
    plain: list[str] = field(default_factory=list)
    html: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    left_out: int = 0


@dataclass(slots=True)
class _Assembly:
    """The message's pages so far; ``offset`` pages stand before what comes next."""

    pages: list[DraftPage] = field(default_factory=list)
    lines: list[DraftLine] = field(default_factory=list)
    toc: list[TocEntry] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    sources: list[PageSource | None] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)

    def append(
        self, draft: Draft, *, title: str, level: int, sources: Sequence[PageSource | None] | None = None
    ) -> None:
        """Put a draft behind the pages there are, as a section of its own; ``sources`` has one entry per page."""
        offset = len(self.pages)
        self.sources.extend(sources or [None] * len(draft.pages))
        if draft.pages:
            self.toc.append(TocEntry(title, level, offset + 1, line_num=1))
        self.unread.extend(number + offset for number in draft.unread)
        for page in draft.pages:
            self.pages.append(replace(page, page_num=page.page_num + offset))
        for line in draft.lines:
            line.page_num += offset
            self.lines.append(line)
        for entry in draft.toc:
            page_num = None if entry.page_num is None else entry.page_num + offset
            self.toc.append(replace(entry, level=entry.level + level, page_num=page_num))
        self.warnings.extend(f"{title}: {warning}" for warning in draft.warnings)


def draft_of_mail(
    data: bytes,
    *,
    limits: ParseLimits,
    password: str | None = None,
    recognised: Recognised = NOTHING_RECOGNISED,
) -> Draft:
    """Headers and body on virtual pages, then the pages of each attachment that can be read.

    Raises :class:`ParseFailure`: ``corrupt`` for what is no message, ``too_large``.
    """
    return draft_of_message(_message(data), limits=limits, password=password, recognised=recognised)


def draft_of_message(
    message: Message, *, limits: ParseLimits, password: str | None, recognised: Recognised
) -> Draft:
    """The draft of a message that was read already. Raises what :func:`draft_of_mail` raises."""
    reader = _MailReader(limits, password, read_pdf=_read_pdf, recognised=recognised)
    whole = reader.assemble(message)
    title = reader.subject or None
    return Draft("email", whole.pages, whole.lines, whole.toc, "markup", title, whole.warnings, whole.unread)


def page_source(
    data: bytes, page_num: int, *, kind: Kind, limits: ParseLimits, password: str | None = None
) -> PageSource | None:
    """Where page ``page_num`` (1-based) of a message comes from; None for a page that is text only."""
    sources = _MailReader(limits, password, read_pdf=_count_pages).assemble(_message_of(data, kind)).sources
    return sources[page_num - 1] if 1 <= page_num <= len(sources) else None


def _read_pdf(data: bytes, limits: ParseLimits, password: str | None, recognised: Recognised) -> Draft:
    from arbitration.parsing.pdf import draft_of_pdf

    return draft_of_pdf(data, limits=limits, password=password, recognised=recognised)


def _count_pages(data: bytes, limits: ParseLimits, password: str | None, _recognised: Recognised) -> Draft:
    """The pages of a PDF without their text, for whoever only wants to know which page is which."""
    from arbitration.parsing.pdf import open_pdf

    document = open_pdf(data, password=password)
    try:
        count = len(document)
    finally:
        document.close()
    if count > limits.max_pages:
        raise ParseFailure(
            "too_many_pages", f"The PDF has {count} pages; at most {limits.max_pages} are read."
        )
    return Draft("pdf", [DraftPage(number) for number in range(1, count + 1)], [])


class _MailReader:
    """Reads a message and what is attached to it; ``read_pdf`` makes a draft of an attached PDF."""

    def __init__(
        self,
        limits: ParseLimits,
        password: str | None,
        *,
        read_pdf: _PdfReader,
        recognised: Recognised = NOTHING_RECOGNISED,
    ) -> None:
        self.subject = ""
        self._recognised = recognised
        self._limits = limits
        self._password = password
        self._read_pdf = read_pdf

    def assemble(self, message: Message, depth: int = 0, before: int = 0) -> _Assembly:
        """The pages, lines and headings of a message; ``depth`` counts the messages that it is inside of, ``before``
        the pages that stand before it."""
        parts = _parts(message)
        flow = Flow("email", self._limits.max_characters)
        subject = header_of(message, "Subject")
        self.subject = self.subject or subject
        for name in _SHOWN_HEADERS:
            value = header_of(message, name)
            if value:
                flow.add(f"{name}: {value}")
        for number, attachment in enumerate(parts.attachments, start=1):
            flow.add(f"Attachment {number}: {attachment.name} ({len(attachment.data):,} bytes)")
        body, warnings = _body(parts, flow)
        if parts.left_out:
            warnings.append(f"{parts.left_out} parts beyond the limit of {MAX_PARTS} were left out")
        whole = _Assembly(warnings=warnings)
        whole.append(Draft("email", flow.pages, flow.lines, body), title=subject or "Message", level=1)
        for attachment in parts.attachments:
            self._attach(whole, attachment, depth, before + len(whole.pages))
        return whole

    def _attach(self, whole: _Assembly, attachment: Attachment, depth: int, before: int) -> None:
        title = f"Attachment: {attachment.name}"
        try:
            draft, sources = self._draft_of(attachment, depth, before)
        except ParseFailure as failure:
            whole.warnings.append(f"{title}: not read. {failure.message}")
            return
        if len(whole.pages) + len(draft.pages) > self._limits.max_pages:
            whole.warnings.append(
                f"{title}: not read, since the message would have more than {self._limits.max_pages} pages"
            )
            return
        whole.append(draft, title=title, level=1, sources=sources)
        if sum(len(line.text) for line in whole.lines) > self._limits.max_characters:
            raise ParseFailure(
                "too_large",
                f"The message holds more than {self._limits.max_characters:,} characters. Upload its parts.",
            )

    def _draft_of(
        self, attachment: Attachment, depth: int, before: int
    ) -> tuple[Draft, list[PageSource | None]]:
        """The attachment read by the parser of its kind, and where its pages can be drawn from."""
        if PurePosixPath(attachment.name).suffix.lower() not in EXTENSIONS:
            raise ParseFailure("unsupported_type", "Files of this type are not read.")
        kind = detect_kind(attachment.data, attachment.name)
        if kind in ("email", "msg"):
            if depth + 1 >= MAX_NESTED:
                raise ParseFailure("too_large", f"Messages are read {MAX_NESTED} deep.")
            inner = self.assemble(_message_of(attachment.data, kind), depth + 1, before)
            draft = Draft("email", inner.pages, inner.lines, inner.toc, warnings=inner.warnings)
            draft.unread = inner.unread
            return draft, inner.sources
        if kind == "image":
            attachment = _as_pdf(attachment, self._limits)
        if kind in ("pdf", "image"):
            there = {page - before: lines for page, lines in self._recognised.items() if page > before}
            draft = self._read_pdf(attachment.data, self._limits, self._password, there)
            return draft, [PageSource(attachment.data, page.page_num) for page in draft.pages]
        draft = self._flowing(attachment.data, kind)
        return draft, [None] * len(draft.pages)

    def _flowing(self, data: bytes, kind: Kind) -> Draft:
        """A draft of a format without pages."""
        if kind in ("docx", "xlsx", "pptx", "odt", "rtf"):
            from arbitration.parsing.office import draft_of_office

            return draft_of_office(kind, data, limits=self._limits, password=self._password)
        if kind == "html":
            return draft_of_html(decode_html(data), limits=self._limits)
        if kind == "markdown":
            from arbitration.parsing.markdown import draft_of_markdown

            return draft_of_markdown(decode(data))
        return draft_of_text(decode(data))


def _message_of(data: bytes, kind: Kind) -> Message:
    if kind != "msg":
        return _message(data)
    from arbitration.parsing.msg import message_of_msg

    return message_of_msg(data)


def _as_pdf(attachment: Attachment, limits: ParseLimits) -> Attachment:
    """An attached picture as a PDF, which is read and drawn like one. Raises ParseFailure."""
    if attachment.is_inline:
        raise ParseFailure("unsupported_type", "Pictures inside the text of a message are not read.")
    from arbitration.parsing.image import pdf_of_image

    return Attachment(attachment.name, pdf_of_image(attachment.data, limits=limits))


def _message(data: bytes) -> Message:
    try:
        message = email.message_from_bytes(data, policy=email.policy.compat32)
    except TOLERATED as error:
        raise _damaged() from error
    if not any(message.get(name) for name in ("From", "To", "Date", "Subject", "Received", "Message-ID")):
        raise _damaged()
    return message


def _damaged() -> ParseFailure:
    return ParseFailure(
        "corrupt", "The file is no readable e-mail message. Export it again from the mail program as .eml."
    )


def header_of(message: Message, name: str) -> str:
    """A header in readable form; one that is encoded wrongly comes as it is."""
    raw = str(message.get(name, ""))[:_MAX_HEADER]
    try:
        text = str(make_header(decode_header(raw)))
    except TOLERATED:
        text = raw
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())


def _parts(message: Message) -> _Parts:
    """Bodies and attachments; what is inside an attached message stays there."""
    parts = _Parts()
    for number, part in enumerate(_leaves(message)):
        if number >= MAX_PARTS:
            parts.left_out += 1
            continue
        kind = part.get_content_type()
        name = file_name_of(part)
        is_attached = part.get_content_disposition() == "attachment" or bool(name) or kind == "message/rfc822"
        if kind in ("text/plain", "text/html") and not is_attached:
            charset = _charset(part)
            text = decode_html(payload_of(part), charset=charset)
            (parts.html if kind == "text/html" else parts.plain).append(text)
        elif is_attached and len(parts.attachments) < MAX_ATTACHMENTS:
            name = name or f"part-{len(parts.attachments) + 1}{_EXTENSION_OF.get(kind, '')}"
            is_inline = part.get_content_disposition() != "attachment"
            parts.attachments.append(Attachment(name, payload_of(part), is_inline))
        elif is_attached:
            parts.left_out += 1
    return parts


def _leaves(message: Message) -> Iterator[Message]:
    """Parts that hold something themselves, in order. A loop, not a recursion: nesting is the sender's choice."""
    pending: list[Message] = [message]
    while pending:
        part = pending.pop()
        if part.is_multipart() and part.get_content_type() != "message/rfc822":
            inside = part.get_payload()
            if isinstance(inside, list):
                pending.extend(item for item in reversed(inside) if isinstance(item, Message))
        else:
            yield part


def payload_of(part: Message) -> bytes:
    """The bytes of a part; for an attached message, the message."""
    try:
        content = part.get_payload()
        if isinstance(content, list):
            return b"".join(item.as_bytes() for item in content[:1] if isinstance(item, Message))
        decoded = part.get_payload(decode=True)
    except TOLERATED:
        return b""
    return decoded if isinstance(decoded, bytes) else b""


def _charset(part: Message) -> str:
    try:
        return str(part.get_content_charset() or "")
    except TOLERATED:
        return ""


def file_name_of(part: Message) -> str:
    """The stated name without its folders: shown and used for its extension only, never as a path."""
    try:
        stated = part.get_filename() or ""
        stated = str(make_header(decode_header(str(stated))))
    except TOLERATED:
        return ""
    name = PurePosixPath(stated.replace("\\", "/")).name
    return "".join(c for c in name if c.isprintable())[:120].strip()


def _body(parts: _Parts, flow: Flow) -> tuple[list[TocEntry], list[str]]:
    """Write the body: its HTML form, which mail programs show, else the plain one."""
    warnings: list[str] = []
    plain = "\n".join(parts.plain)
    if not parts.html:
        for paragraph in re.split(r"\r?\n[ \t]*\r?\n", plain):
            flow.add(paragraph.replace("\r\n", "\n"))
        return [], warnings
    before = len(flow.lines)
    for page in parts.html:
        reader = HtmlReader(flow)
        reader.read(page)
        warnings.extend(reader.warnings())
    shown = " ".join(line.text for line in flow.lines[before:] if line.is_body)
    if parts.plain and _say_different_things(plain, shown):
        warnings.append(
            "the plain form of the body says something else than the HTML form, which is the one read"
        )
    return flow.toc, warnings


def _say_different_things(one: str, other: str) -> bool:
    first, second = set(_WORD.findall(one.casefold())), set(_WORD.findall(other.casefold()))
    if min(len(first), len(second)) < _MIN_WORDS:
        return False
    return len(first & second) < _DIFFERENT * min(len(first), len(second))
