"""Outlook messages (MSG), read with python-oxmsg and then as the e-mail message that they stand for."""

from __future__ import annotations

import email.utils
from collections.abc import Iterator
from email.message import Message
from email.mime.application import MIMEApplication
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import Any

from arbitration.parsing.drafts import Draft
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.mail import MAX_ATTACHMENTS, draft_of_message
from arbitration.parsing.package import damage_reported
from arbitration.parsing.recognised import NOTHING_RECOGNISED, Recognised
from arbitration.parsing.rtf import rtf_text

# MS-OXPROPS: the body as compressed RTF, the id by which an HTML body shows an attached picture, the sender.
_RTF_BODY, _CONTENT_ID, _SENDER_NAME = 0x1009, 0x3712, 0x0C1A
_PROGRAM = "Outlook"


def draft_of_msg(
    data: bytes,
    *,
    limits: ParseLimits,
    password: str | None = None,
    recognised: Recognised = NOTHING_RECOGNISED,
) -> Draft:
    """Headers and body on virtual pages, then the attachments. Raises what ``mail.draft_of_mail`` raises."""
    message = message_of_msg(data)
    return draft_of_message(message, limits=limits, password=password, recognised=recognised)


def message_of_msg(data: bytes) -> Message:
    """The message in the form of RFC 5322. Raises :class:`ParseFailure` (``corrupt``)."""
    from oxmsg import Message as OutlookMessage

    with damage_reported(_PROGRAM):
        source = OutlookMessage.load(data)
        message = MIMEMultipart("mixed")
        for name, value in _headers(source):
            if value:
                message[name] = " ".join(str(value).split())
        body = source.html_body
        if body:
            message.attach(MIMEText(body, "html", "utf-8"))
        else:
            message.attach(MIMEText(source.body or _rich_body(source), "plain", "utf-8"))
        for number, attachment in enumerate(source.attachments):
            if number >= 2 * MAX_ATTACHMENTS:
                break
            message.attach(_attached(attachment, number + 1))
        return message


def _headers(source: Any) -> Iterator[tuple[str, str | None]]:
    stated = source.message_headers
    yield "From", source.sender or source.properties.str_prop_value(_SENDER_NAME)
    names = ", ".join(email.utils.formataddr((one.name, one.email_address)) for one in source.recipients)
    yield "To", stated.get("To") or names
    yield "Cc", stated.get("Cc")
    sent = source.sent_date
    yield "Date", stated.get("Date") or (email.utils.format_datetime(sent) if sent is not None else None)
    yield "Subject", source.subject or "(no subject)"


def _rich_body(source: Any) -> str:
    """The words of a body that is there as compressed RTF only."""
    from compressed_rtf.compressed_rtf import decompress

    packed = source.properties.binary_prop_value(_RTF_BODY)
    return rtf_text(decompress(packed).decode("latin-1")) if packed else ""


def _attached(attachment: Any, number: int) -> Message:
    data = attachment.file_bytes
    name = " ".join((attachment.file_name or f"part-{number}").split())
    part = MIMEApplication(data or b"")
    is_inline = attachment.properties.str_prop_value(_CONTENT_ID) is not None
    part.add_header("Content-Disposition", "inline" if is_inline else "attachment", filename=name)
    return part
