"""``manage.py rotate_keys``: re-encrypts what still uses the previous SECRET_KEY."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from workbench.infra.commands import JsonCommand
from workbench.operations.keys import KeysReport, keys_rotate


class Command(JsonCommand):
    help = (
        "Re-encrypts second factors with the current SECRET_KEY and lists webhooks that need a new "
        "secret. Run it after changing SECRET_KEY and moving the previous one to SECRET_KEY_FALLBACKS. "
        "Safe to repeat."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        report = keys_rotate()
        self.emit(asdict(report) | {"may_end": report.may_end}, human=lambda _: in_words(report))


def in_words(report: KeysReport) -> str:
    """The result in words: what was done, what to do next, and when the previous key can be removed."""
    factors = report.second_factors
    lines = [
        f"Second factors: {factors.renewed} re-encrypted, {factors.current} already used the current key."
    ]
    if factors.lost:
        lines.append(
            f"{factors.lost} use an unknown key, so their owners cannot sign in with them. Add that key to "
            "SECRET_KEY_FALLBACKS and repeat, or have an administrator remove them under /backdoor/."
        )
    if report.webhooks:
        lines.append(
            "These webhooks sign with a previous key. Create a new secret on the page of each, then repeat:"
        )
        lines += [f"  {address}" for address in report.webhooks]
    elif report.fallbacks:
        lines.append(
            "You can empty SECRET_KEY_FALLBACKS a day after the change, when old sessions have ended."
        )
    else:
        lines.append("No previous key is in use.")
    return "\n".join(lines)
