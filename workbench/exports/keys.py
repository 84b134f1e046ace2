"""The key under which this installation signs exports (Ed25519), and the public keys that tell whether one is its.

The key is a setting and lies in no table: who can write to the database, or has a copy of it, signs nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from django.conf import settings
from django.utils.translation import gettext as _

from workbench.errors import WorkbenchError

_PEM = b"-----BEGIN "


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that exports are checked with: this installation's, an earlier one of it, or one that was handed over."""

    raw: bytes
    is_current: bool = False

    @property
    def id(self) -> str:
        """What records name it by: the SHA-256 of its 32 bytes."""
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def text(self) -> str:
        """One word for a setting."""
        return base64.b64encode(self.raw).decode("ascii")

    @property
    def pem(self) -> str:
        """As other programs read it."""
        key = Ed25519PublicKey.from_public_bytes(self.raw)
        return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")

    def has_signed(self, content: bytes, signature: bytes) -> bool:
        """Whether the signature is this key's, of exactly this content."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, content)
        except InvalidSignature:
            return False
        return True


class Signer:
    """Signs what an export holds; without a key it signs nothing, and its ``id`` is empty."""

    def __init__(self, key: Ed25519PrivateKey | None) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes_raw(), is_current=True) if key else None
        self.id = self.public.id if self.public else ""

    def sign(self, content: bytes) -> bytes | None:
        """64 bytes, or nothing."""
        return self._key.sign(content) if self._key else None


def signer() -> Signer:
    """That of EXPORT_SIGNING_KEY. Raises :class:`WorkbenchError` when that is no such key."""
    given = settings.EXPORT_SIGNING_KEY.strip().encode("utf-8")
    return Signer(_private_key(given) if given else None)


def public_keys() -> list[PublicKey]:
    """The installation's key, then its earlier ones, which old exports are checked with."""
    current = signer().public
    earlier = [PublicKey(_public_raw(word.encode("utf-8"))) for word in settings.EXPORT_PUBLIC_KEYS]
    return [
        *([current] if current else []),
        *(key for key in earlier if not current or key.raw != current.raw),
    ]


def read_public_keys(content: bytes) -> list[PublicKey]:
    """The keys of a file: PEM, one after the other with anything between, or one word a line."""
    if _PEM in content:
        blocks = content.split(_PEM)[1:]
        return [PublicKey(_public_raw(_PEM + block)) for block in blocks]
    return [PublicKey(_public_raw(word)) for word in content.split()]


def signed_by(content: bytes, signature: bytes, keys: Iterable[PublicKey]) -> PublicKey | None:
    """Which of the keys has signed the content."""
    return next((key for key in keys if key.has_signed(content, signature)), None)


def _private_key(given: bytes) -> Ed25519PrivateKey:
    try:
        if not given.startswith(_PEM):
            return Ed25519PrivateKey.from_private_bytes(base64.b64decode(given, validate=True))
        key = load_pem_private_key(given, password=None)
    except (ValueError, TypeError, binascii.Error) as error:
        raise _not_a_key() from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _not_a_key()
    return key


def _not_a_key() -> WorkbenchError:
    # The error of the library is not passed on: it may quote what was given.
    return WorkbenchError(
        _(
            "EXPORT_SIGNING_KEY is not an Ed25519 key: give 32 random bytes as base64, or PEM without a password."
        ),
        code="signing_key",
    )


def _public_raw(given: bytes) -> bytes:
    try:
        if not given.startswith(_PEM):
            return Ed25519PublicKey.from_public_bytes(
                base64.b64decode(given, validate=True)
            ).public_bytes_raw()
        key = load_pem_public_key(given)
    except (ValueError, binascii.Error) as error:
        raise _not_a_public_key() from error
    if not isinstance(key, Ed25519PublicKey):
        raise _not_a_public_key()
    return key.public_bytes_raw()


def _not_a_public_key() -> WorkbenchError:
    return WorkbenchError(
        _(
            "A public key of exports cannot be read: give 32 bytes as base64, or PEM, as export_key prints them."
        ),
        code="public_key",
    )
