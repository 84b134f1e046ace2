"""Office files as containers: the encrypted ones opened, and their parts checked before a library sees them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

from arbitration.errors import ParseFailure, PasswordRequired
from arbitration.parsing.archive import Archive
from arbitration.parsing.safe_xml import refuse_doctype

OLE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_XML = (".xml", ".rels", ".vml")


def opened_package(data: bytes, *, password: str | None, extension: str) -> bytes:
    """The container, out of its encryption where it has one (MS-OFFCRYPTO).

    Raises :class:`PasswordRequired`, and :class:`ParseFailure` (``type_mismatch``, ``corrupt``).
    """
    return _decrypted(data, password, extension) if data.startswith(OLE_SIGNATURE) else data


def checked_package(data: bytes) -> Archive:
    """A container whose parts are no bomb and declare no entities: fit for a library that reads them by itself.

    Raises :class:`ParseFailure` (``corrupt``, ``too_large``, ``forbidden_content``).
    """
    archive = Archive(data)
    if archive.has_twins:
        raise ParseFailure(
            "forbidden_content",
            "The container holds two parts of one name, so that two programs would show two documents. Open it in its "
            "program and save it as a new file.",
        )
    for name in archive.names:
        if name.endswith(_XML):
            refuse_doctype(archive.read(name) or b"")
    return archive


@contextmanager
def damage_reported(program: str) -> Iterator[None]:
    """Whatever a library raises over a damaged file becomes :class:`ParseFailure` (``corrupt``)."""
    try:
        yield
    except (ParseFailure, MemoryError, RecursionError):
        raise
    except Exception as error:
        raise ParseFailure(
            "corrupt", f"The file is damaged and cannot be read. Open it in {program} and save it again."
        ) from error


def _decrypted(data: bytes, password: str | None, extension: str) -> bytes:
    """The document inside an encrypted package."""
    import msoffcrypto
    from msoffcrypto.exceptions import DecryptionError, FileFormatError, InvalidKeyError

    try:
        container = msoffcrypto.OfficeFile(io.BytesIO(data))
        if not container.is_encrypted() or container.format != "ooxml":
            raise ParseFailure(
                "type_mismatch",
                f"The name says {extension[1:].upper()}, but it is an older Office file. Save it as {extension} in a "
                "current program.",
            )
        if password is None:
            raise PasswordRequired("encrypted", "The document is encrypted. Give its password to open it.")
        plain = io.BytesIO()
        container.load_key(password=password)
        container.decrypt(plain)
    except InvalidKeyError as error:
        raise _wrong_password() from error
    except ParseFailure:
        raise
    except (DecryptionError, FileFormatError, OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise ParseFailure(
            "corrupt",
            f"The file is an encrypted or older Office file that cannot be opened. Save it again as {extension}.",
        ) from error
    except Exception as error:  # a library that meets a damaged container raises whatever it met there
        raise ParseFailure(
            "corrupt", "The file is damaged: its encrypted container cannot be read. Save it again."
        ) from error
    if not plain.getvalue().startswith(b"PK"):
        raise _wrong_password()
    return plain.getvalue()


def _wrong_password() -> PasswordRequired:
    return PasswordRequired(
        "wrong_password", "The password does not open this document. Check it and try again."
    )
