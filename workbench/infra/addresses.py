"""Addresses: what they hold, as anybody can write anything there, and how those of many rows are made."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.urls import get_script_prefix, reverse

from .storable import storable

if TYPE_CHECKING:
    from django.http import HttpRequest

#: A key or an offset has at most this many digits; longer ones overflow the database's integers.
_MOST_DIGITS = 18


#: Stands for a key while the form of an address is looked up; no part of an address holds it.
_ANY_KEY = 7_770_777


def keyed_address(name: str, key: int) -> str:
    """``reverse(name, args=[key])`` for pages of hundreds of them: the form is looked up once."""
    before, after = _around_the_key(name, get_script_prefix())
    return f"{before}{key}{after}"


def page_address(name: str) -> str:
    """``reverse(name)`` for pages that stand on every page: looked up once."""
    return _page_address(name, get_script_prefix())


@lru_cache(maxsize=100)
def _page_address(name: str, script_prefix: str) -> str:
    return reverse(name)


@lru_cache(maxsize=100)
def _around_the_key(name: str, script_prefix: str) -> tuple[str, str]:
    before, after = reverse(name, args=[_ANY_KEY]).split(str(_ANY_KEY))
    return before, after


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
