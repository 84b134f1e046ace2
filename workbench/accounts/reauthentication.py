"""Acts of an administrator ask for the password, or the second factor, once more."""

from __future__ import annotations

import time
from collections.abc import Callable

from allauth.account.decorators import reauthentication_required
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.internal.flows.reauthentication import did_recently_reauthenticate
from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from workbench.errors import NotAllowed

View = Callable[..., HttpResponse]


def asks_again(view: View) -> View:
    """A POST goes through for a while after the person showed who they are (REAUTHENTICATION_SECONDS); later it waits
    until they have done so again, and is carried out then. Reading is free."""
    guarded: View = reauthentication_required(enabled=_is_wanted)(view)
    return guarded


def require_shown_lately(request: HttpRequest) -> None:
    """For programs in a browser's session, which cannot be sent to a page. Raises :class:`NotAllowed` with the code
    ``reauthentication_required`` where a page would ask."""
    if shown_lately(request):
        return
    raise NotAllowed(
        _("Show who you are at %(address)s first, then send this again.")
        % {"address": reverse("account_reauthenticate")},
        code="reauthentication_required",
    )


def shown_lately(request: HttpRequest) -> bool:
    """Whether the person showed who they are within REAUTHENTICATION_SECONDS, or need not."""
    return not settings.ASKS_AGAIN or _logged_in_lately(request) or did_recently_reauthenticate(request)


def ask_who_it_is(*, back: str) -> HttpResponse:
    """Sends the person to show who they are, and from there to the address `back` of this site: for what is taken by a
    GET, which would otherwise be fetched behind a page that still asks for a password."""
    return redirect(f"{reverse('account_reauthenticate')}?{urlencode({REDIRECT_FIELD_NAME: back})}")


def _is_wanted(request: HttpRequest) -> bool:
    return request.method == "POST" and settings.ASKS_AGAIN and not _logged_in_lately(request)


def _logged_in_lately(request: HttpRequest) -> bool:
    """A login counts as showing who one is; allauth by itself counts only what came after it."""
    moments = [record["at"] for record in get_authentication_records(request, request.user)]
    return bool(moments) and time.time() - moments[-1] < settings.ACCOUNT_REAUTHENTICATION_TIMEOUT
