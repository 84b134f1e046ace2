"""``manage.py export_key``: prints the public keys for checking exports of this installation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError

from workbench.exports.keys import PublicKey, public_keys
from workbench.infra.commands import JsonCommand


class Command(JsonCommand):
    help = (
        "Prints the public keys for checking exports as PEM, current key first. Give them to recipients "
        "of exports, separately from the exports. Nothing secret is printed."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        keys = public_keys()
        if not keys:
            raise CommandError("Exports are not signed: EXPORT_SIGNING_KEY is not set.", returncode=1)
        rows = [{"id": key.id, "is_current": key.is_current, "key": key.text, "pem": key.pem} for key in keys]
        self.emit(rows, human=lambda _: _in_words(keys))


def _in_words(keys: Sequence[PublicKey]) -> str:
    # Readers of PEM skip what stands between the blocks.
    return "\n".join(
        f"{'In use' if key.is_current else 'Earlier'}: {key.id}\nAs one word: {key.text}\n{key.pem}"
        for key in keys
    )
