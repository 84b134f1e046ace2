"""Addresses: what they hold, as anybody can write anything there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings

from .storable import storable

if TYPE_CHECKING:
    from django.http import HttpRequest

#: A key or an offset has at most this many digits; longer ones overflow the database's integers.
_MOST_DIGITS = 18


def number_in(raw: str | None) -> int | None:
    """The whole number a value holds; None for anything else, and for one that no key can be."""
    if not raw or not raw.isascii() or not raw.isdecimal() or len(raw) > _MOST_DIGITS:
        return None
    return int(raw)


def words_in(raw: str | None) -> str:
    """Words to look for, without what no stored text holds, and without outer blanks."""
    return storable(raw or "").strip()


def public_address(path: str, request: HttpRequest | None = None) -> str:
    """A path as an address that works in a mail: below PUBLIC_URL, else on the host of the request; without either
    the path itself."""
    if settings.PUBLIC_URL:
        return settings.PUBLIC_URL + path
    return request.build_absolute_uri(path) if request is not None else path


def address_of(request: HttpRequest | None) -> str:
    """Where a request came from, as allauth reads it behind proxies; "" when it cannot tell."""
    from allauth.account.adapter import get_adapter
    from django.core.exceptions import ImproperlyConfigured, PermissionDenied

    if request is None:
        return ""
    try:
        return get_adapter().get_client_ip(request)
    except (ImproperlyConfigured, PermissionDenied):  # fewer proxies in the way than there should be
        return ""
