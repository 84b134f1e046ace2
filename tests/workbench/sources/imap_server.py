"""A mail server of the tests' own: what an IMAP client of ours asks, over TLS on this machine, and no more."""

from __future__ import annotations

import re
import socketserver
import ssl
import threading
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

USER, PASSWORD = "intake@example.org", 'pass "word"'


class MailServer:
    """``mails`` are those of INBOX by UID; ``asked`` what clients sent, passwords left out."""

    def __init__(self, folder: Path) -> None:
        self.mails: dict[int, bytes] = {}
        self.validity = 7
        self.asked: list[str] = []
        #: Said about the size of a mail, instead of the truth.
        self.claimed: int | None = None
        #: Answers to FETCH that break off after so many.
        self.breaks_after: int | None = None
        #: Said unasked, without end, so many seconds apart, once a command of this name comes.
        self.chatters_at = ""
        self.chatters: tuple[bytes, float] = (b"* OK still here", 0.02)
        self.certificate = folder / "mail.pem"
        _certificate(self.certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        mail_server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                try:
                    with context.wrap_socket(self.request, server_side=True) as secure:
                        mail_server._talk(secure.makefile("rwb"))
                except OSError:
                    return

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> MailServer:
        self._thread.start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=10)

    def _talk(self, stream: Any) -> None:
        def say(line: bytes) -> None:
            stream.write(line + b"\r\n")
            stream.flush()

        say(b"* OK ready")
        while line := stream.readline():
            tag, _blank, asked = line.decode().strip().partition(" ")
            self.asked.append(re.sub(r"^LOGIN.*", "LOGIN", asked))
            verb = asked.upper()
            while self.chatters_at and verb.startswith(self.chatters_at):
                say(self.chatters[0])
                time.sleep(self.chatters[1])
            if verb == "CAPABILITY":
                say(b"* CAPABILITY IMAP4rev1")
            elif verb.startswith("LOGIN"):
                wanted = 'LOGIN "{}" "{}"'.format(USER, PASSWORD.replace('"', '\\"'))
                if asked != wanted:
                    say(f"{tag} NO wrong".encode())
                    continue
            elif verb.startswith("EXAMINE"):
                if asked != 'EXAMINE "INBOX"':
                    say(f"{tag} NO no such mailbox".encode())
                    continue
                say(f"* {len(self.mails)} EXISTS".encode())
                say(f"* OK [UIDVALIDITY {self.validity}] valid".encode())
            elif verb.startswith("UID SEARCH"):
                first = int(verb.removeprefix("UID SEARCH UID ").partition(":")[0])
                # As servers do: the last mail belongs to the range, whatever its beginning.
                found = [uid for uid in self.mails if uid >= min(first, max(self.mails, default=0))]
                say(("* SEARCH " + " ".join(map(str, found))).strip().encode())
            elif verb.startswith("UID FETCH"):
                if not self._fetch(verb, say):
                    return
            elif verb == "LOGOUT":
                say(b"* BYE")
                say(f"{tag} OK".encode())
                return
            else:
                say(f"{tag} BAD".encode())
                continue
            say(f"{tag} OK done".encode())

    def _fetch(self, verb: str, say: Any) -> bool:
        uid = int(verb.split()[2])
        if uid not in self.mails:
            return True
        raw = self.mails[uid]
        if "RFC822.SIZE" in verb:
            say(f"* 1 FETCH (UID {uid} RFC822.SIZE {self.claimed or len(raw)})".encode())
            return True
        if self.breaks_after is not None:
            if self.breaks_after == 0:
                return False
            self.breaks_after -= 1
        say(f"* 1 FETCH (UID {uid} BODY[] {{{len(raw)}}}".encode())
        say(raw + b")")
        return True


def _certificate(path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
