"""``manage.py rotate_keys``: after SECRET_KEY was changed, what still hangs on the former key."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from workbench.infra.commands import JsonCommand
from workbench.operations.keys import KeysReport, keys_rotate


class Command(JsonCommand):
    help = (
        "After SECRET_KEY was changed and the former one put into SECRET_KEY_FALLBACKS: encrypts second factors with "
        "the present key, and names the webhooks that need a new secret. Safe to repeat."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        report = keys_rotate()
        self.emit(asdict(report) | {"may_end": report.may_end}, human=lambda _: in_words(report))


def in_words(report: KeysReport) -> str:
    """For people: what was done, what they do, and when the former key may go."""
    factors = report.second_factors
    lines = [
        f"Second factors: {factors.renewed} encrypted anew, {factors.current} were under the present key."
    ]
    if factors.lost:
        lines.append(
            f"{factors.lost} are under a key that is not known any more: their owners cannot sign in with them, "
            "and an administrator takes them away under /backdoor/. Or put that key into SECRET_KEY_FALLBACKS, and "
            "repeat."
        )
    if report.webhooks:
        lines.append(
            "These webhooks sign with a former key; make a new secret on the page of each, then repeat:"
        )
        lines += [f"  {address}" for address in report.webhooks]
    elif report.fallbacks:
        lines.append(
            "SECRET_KEY_FALLBACKS may be emptied a day after the change, when the old sessions have ended."
        )
    else:
        lines.append("No former key is in use.")
    return "\n".join(lines)
