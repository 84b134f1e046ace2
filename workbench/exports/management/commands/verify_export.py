"""``manage.py verify_export FILE``: checks that an export is genuine."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from workbench.exports.keys import public_keys, read_public_keys
from workbench.exports.sums import Broken, Checked, NotAnExport, export_check
from workbench.infra.command_line import WRONG_USE
from workbench.infra.commands import JsonCommand


class Command(JsonCommand):
    help = (
        "Checks every file of an export against its checksum, and the checksums against their signature. "
        "If keys are known from the settings or --key, an export signed by none of them is refused. Needs"
        " no database."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "file", type=Path, help="archive of a period, or a file of a run with the other files next to it"
        )
        parser.add_argument(
            "--key",
            type=Path,
            metavar="FILE",
            help="file with public keys, as printed by export_key (default: the keys in the settings)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path, key_file = options["file"], options["key"]
        try:
            keys = read_public_keys(key_file.read_bytes()) if key_file else public_keys()
            if key_file and not keys:
                raise CommandError(f"{key_file} contains no key.", returncode=WRONG_USE)
            checked = export_check(path, keys=keys)
        except Broken as error:
            raise CommandError(f"{path} is refused: {error}.", returncode=1) from error
        except NotAnExport as error:
            raise CommandError(f"{path} cannot be checked: {error}.", returncode=WRONG_USE) from error
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror or error}.", returncode=1) from error
        row = {
            "files": checked.files,
            "signed": checked.is_signed,
            "key": checked.key.id if checked.key else None,
        }
        self.emit(row, human=lambda _: _in_words(checked))


def _in_words(checked: Checked) -> str:
    files = f"{checked.files} {'file matches its checksum' if checked.files == 1 else 'files match their checksums'}."
    if checked.key is not None:
        return f"{files} Signed with key {checked.key.id}."
    if checked.is_signed:
        return f"{files} The signature was not checked because no key is known. Use --key."
    return f"{files} Not signed: anyone who changes a file can change its checksum too."
