"""Secrets of second factors, as they lie in the database: encrypted with a key derived from SECRET_KEY.

Who has a copy of the database, or a backup, signs in as nobody. When SECRET_KEY changes, the former one among
SECRET_KEY_FALLBACKS still opens them, until :func:`second_factors_renew` has written them anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cryptography.fernet import InvalidToken, MultiFernet
from django.db import transaction

from workbench.infra.sealing import fernets

_PURPOSE = "workbench.accounts.second_factor"

#: Begins an encrypted secret; one from before lies in the clear until it is written anew.
_ENCRYPTED = "v1:"
#: Where allauth keeps secrets in the data of a factor: one, or a list of them.
_PLACES = ("secret", "seed", "migrated_codes")


@dataclass(frozen=True, slots=True)
class Renewed:
    """What became of the secrets. ``lost`` are of a key that nobody knows: an administrator takes them away."""

    renewed: int = 0
    current: int = 0
    lost: int = 0


def sealed(text: str) -> str:
    """The stored form of a secret."""
    return _ENCRYPTED + MultiFernet(fernets(_PURPOSE)).encrypt(text.encode()).decode()


def opened(stored: str) -> str | None:
    """The secret; None where no key of the installation opens it."""
    if not stored.startswith(_ENCRYPTED):
        return stored
    try:
        return MultiFernet(fernets(_PURPOSE)).decrypt(stored.removeprefix(_ENCRYPTED)).decode()
    except InvalidToken:
        return None


def second_factors_renew() -> Renewed:
    """Writes every secret anew that is not under the present key; each factor in a transaction of its own."""
    from allauth.mfa.models import Authenticator

    counts = {"renewed": 0, "current": 0, "lost": 0}
    for pk in list(Authenticator.objects.order_by("pk").values_list("pk", flat=True)):
        with transaction.atomic():
            # Locked: a recovery code that is used meanwhile stays used.
            factor = Authenticator.objects.select_for_update().filter(pk=pk).first()
            if factor is None or not any(factor.data.get(place) for place in _PLACES):
                continue
            outcome, data = _renewed(factor.data)
            counts[outcome] += 1
            if outcome == "renewed":
                Authenticator.objects.filter(pk=pk).update(data=data)
    return Renewed(**counts)


def _renewed(data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """What there is to do for one factor, and its data afterwards."""
    changed = dict(data)
    outcomes = set()
    for place in _PLACES:
        stored = data.get(place)
        if not stored:
            continue
        one = isinstance(stored, str)
        results = [_renewed_secret(secret) for secret in ([stored] if one else stored)]
        outcomes |= {outcome for outcome, _ in results}
        kept = [secret for _, secret in results]
        changed[place] = kept[0] if one else kept
    return next(outcome for outcome in ("lost", "renewed", "current") if outcome in outcomes), changed


def _renewed_secret(stored: str) -> tuple[str, str]:
    if stored.startswith(_ENCRYPTED):
        try:
            fernets(_PURPOSE)[0].decrypt(stored.removeprefix(_ENCRYPTED))
            return "current", stored
        except InvalidToken:
            pass
    secret = opened(stored)
    return ("lost", stored) if secret is None else ("renewed", sealed(secret))
