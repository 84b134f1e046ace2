"""Mail of an IMAP mailbox: attachments become documents; a mail without any is a document itself.

Nothing in the mailbox changes: it is opened to read, and no mail is marked as seen. TLS always, with the certificate
checked.
"""

from __future__ import annotations

import imaplib
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from arbitration.errors import ParseFailure
from arbitration.parsing.isolation import ParseLimits, split_mail
from workbench.errors import WorkbenchError
from workbench.infra.outbound import AddressRefused

from .connections import bounded_tls, checked_connection, require_host, require_room
from .protocol import Cursor, Entry, Kind, Listing, Piece, Setting, SourceDown, Values, packed

_TIMEOUT = 30.0
#: Mails of one listing, whose rows and cursor are written together.
_AT_ONCE = 20
#: Attachments of one mail.
MOST_ATTACHMENTS = 100
#: Lines of one answer. The library keeps each.
_MOST_LINES = 10_000
#: Characters of a mail's subject, sender or date that are kept.
_LONGEST_FACT = 300


class _Connection(imaplib.IMAP4_SSL):
    """Connects to addresses that may be called, and takes no more from the server than is asked for."""

    _lines = 0

    def _create_socket(self, timeout: float | None) -> socket.socket:
        plain = checked_connection(self.host, self.port, scheme="https", timeout=timeout or _TIMEOUT)
        try:
            return bounded_tls(self.ssl_context).wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise

    def read(self, size: int) -> bytes:
        """A literal of the server's; it says itself how long it is."""
        require_room(size)
        return super().read(size)

    def readline(self) -> bytes:
        """A line of the server's, of which an answer has a few."""
        self._lines += 1
        if self._lines > _MOST_LINES:
            raise self.abort("more lines than an answer has")
        return super().readline()

    def _command(self, name: str, *given: Any) -> Any:
        """The library keeps what the server says unasked until somebody asks for it, which nobody does here."""
        self._lines = 0
        self.untagged_responses = {}
        return super()._command(name, *given)  # type: ignore[misc]


class MailboxReader:
    """Mails in the order in which they came. The cursor is UIDVALIDITY and the last UID; another UIDVALIDITY means that
    the server has numbered anew, so all are listed again, and known bytes lead to the documents that are there."""

    def __init__(self, values: Values, secret: str) -> None:
        self._values = values
        self._mailbox = _connected(values, secret)
        with _in_words():
            self._done(self._mailbox.select(_quoted(values["mailbox"]), readonly=True))
            _kind, given = self._mailbox.response("UIDVALIDITY")
            self._validity = int(given[0]) if given and given[0] else 0

    def list(self, cursor: Cursor) -> Listing:
        """The next mails after the cursor."""
        last = int(cursor.get("uid", 0)) if cursor.get("uidvalidity") == self._validity else 0
        with _in_words():
            found = self._done(self._mailbox.uid("SEARCH", f"UID {last + 1}:*"))
        # A range whose end is the last mail always holds that one, whatever its beginning.
        uids = sorted({uid for uid in map(int, (found[0] or b"").split()) if uid > last})
        now = uids[:_AT_ONCE]
        entries = [Entry(f"{self._validity}/{uid}", str(self._validity), f"mail-{uid}.eml") for uid in now]
        reached = {"uidvalidity": self._validity, "uid": now[-1] if now else last}
        return Listing(entries, reached, is_last=len(now) == len(uids))

    def fetch(self, entry: Entry, *, most_bytes: int) -> Iterator[Piece]:
        """The files of a mail."""
        validity, _slash, uid = entry.key.partition("/")
        if validity != str(self._validity):
            raise WorkbenchError(
                _("The mailbox was renumbered. The mail is imported automatically."), code="changed"
            )
        most = packed(most_bytes)
        with _in_words():
            sizes = b" ".join(_parts(self._done(self._mailbox.uid("FETCH", uid, "(RFC822.SIZE)"))))
            size = _size_in(sizes)
            if size is None:
                raise WorkbenchError(_("The mail is not in the mailbox any more."), code="gone")
            if size > most:
                raise WorkbenchError(_("The mail is larger than an upload may be."), code="too_large")
            answer = self._done(self._mailbox.uid("FETCH", uid, "(BODY.PEEK[])"))
        raw = next((part[1] for part in answer if isinstance(part, tuple)), None)
        if not raw:
            raise WorkbenchError(_("The mail is not in the mailbox any more."), code="gone")
        with NamedTemporaryFile(prefix="workbench-mail-") as file:
            file.write(raw)
            file.flush()
            del raw, answer  # what is taken out of it needs the memory
            yield from _files(Path(file.name), entry.name, most)

    def close(self) -> None:
        """Signs out."""
        with suppress(imaplib.IMAP4.error, OSError):
            self._mailbox.logout()
            return
        with suppress(OSError):
            self._mailbox.shutdown()

    def _done(self, answer: tuple[str, list[Any]]) -> list[Any]:
        status, data = answer
        if status != "OK":
            raise imaplib.IMAP4.error(status)
        return data


def _files(path: Path, name: str, most_bytes: int) -> Iterator[Piece]:
    """The attachments of a mail, else the mail itself. The isolated parser splits it, as it reads any file."""
    limits = ParseLimits(
        max_bytes=most_bytes, memory_bytes=settings.PARSER_MEMORY_BYTES, wall_s=settings.PARSER_SECONDS
    )
    try:
        mail = split_mail(path=path, most=MOST_ATTACHMENTS, limits=limits)
        facts = {part: value for part, given in mail.facts.items() if (value := _fact(given))}
        number = 0
        for number, file in enumerate(mail.files, start=1):
            yield Piece(file.name or f"attachment-{number}", BytesIO(file.content), number, facts)
    except ParseFailure as failure:
        raise WorkbenchError(_said(failure), code=failure.code) from failure
    if number == 0:
        title = facts.get("subject", "")
        with path.open("rb") as whole:
            yield Piece(f"{title[:100].replace('/', ' ')}.eml" if title else name, whole, facts=facts)


def _said(failure: ParseFailure) -> str:
    if failure.code == "too_many":
        return _("The mail has more than %(n)d attachments.") % {"n": MOST_ATTACHMENTS}
    if failure.code == "corrupt":
        return _("The mail cannot be read: it is malformed.")
    return failure.message


def _fact(value: str) -> str:
    return "".join(character for character in value if character.isprintable())[:_LONGEST_FACT]


def _parts(answer: list[Any]) -> list[bytes]:
    return [piece for part in answer if part for piece in (part if isinstance(part, tuple) else (part,))]


def _size_in(answer: bytes) -> int | None:
    words = answer.replace(b"(", b" ").replace(b")", b" ").split()
    for word, value in pairwise(words):
        if word.upper() == b"RFC822.SIZE" and value.isdigit() and len(value) < 19:
            return int(value)
    return None


def _connected(values: Values, secret: str) -> _Connection:
    try:
        context = ssl.create_default_context()
        mailbox = _Connection(values["host"], int(values["port"]), ssl_context=context, timeout=_TIMEOUT)
    except AddressRefused as error:
        raise SourceDown(_("The mail server's address may not be called (SOURCE_NETWORKS).")) from error
    except ssl.SSLError as error:
        raise SourceDown(_("The mail server's certificate is not trusted.")) from error
    except (OSError, imaplib.IMAP4.error) as error:
        raise SourceDown(
            _("The mail server does not answer: %(error)s.") % {"error": type(error).__name__}
        ) from error
    try:
        mailbox.login(_quoted(values["user"]), secret)
    except imaplib.IMAP4.abort as error:
        mailbox.shutdown()
        raise SourceDown(_("The mail server does not answer: %(error)s.") % {"error": "abort"}) from error
    except (OSError, imaplib.IMAP4.error, UnicodeError) as error:
        mailbox.shutdown()
        raise SourceDown(_("The mail server refused user name and password.")) from error
    return mailbox


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except imaplib.IMAP4.abort as error:
        raise SourceDown(_("The mail server ended the connection.")) from error
    except imaplib.IMAP4.error as error:
        raise SourceDown(_("The mail server refused. Is there such a mailbox?")) from error
    except (OSError, ValueError) as error:
        raise SourceDown(
            _("The mail server does not answer: %(error)s.") % {"error": type(error).__name__}
        ) from error


def _quoted(text: str) -> str:
    """A quoted string of the protocol."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _check(values: Values) -> dict[str, str]:
    port = values["port"]
    if not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        raise WorkbenchError(_("The port is a number up to 65535."), code="bad_settings")
    if not all(values[name].isascii() for name in ("host", "user", "mailbox")):
        raise WorkbenchError(_("Server, user name and mailbox hold plain letters only."), code="bad_settings")
    require_host(values["host"], scheme="https")
    return dict(values)


MAILBOX = Kind(
    name="imap",
    label=gettext_lazy("Mailbox (IMAP)"),
    settings=(
        Setting("host", gettext_lazy("Server"), gettext_lazy("Such as imap.example.org; always over TLS.")),
        Setting("port", gettext_lazy("Port"), initial="993"),
        Setting("user", gettext_lazy("User name")),
        Setting("mailbox", gettext_lazy("Mailbox"), initial="INBOX"),
    ),
    check=_check,
    open=MailboxReader,
    secret=gettext_lazy("Password"),
)
