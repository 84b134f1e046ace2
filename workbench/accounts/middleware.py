"""The language of a page."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation

from workbench.infra.middleware import Middleware


class LanguageMiddleware(Middleware):
    """The language a person has chosen goes before cookie and browser, which Django has read already."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated and request.user.language:
            translation.activate(request.user.language)
            request.LANGUAGE_CODE = translation.get_language()
        return self.get_response(request)


#: Where a session keeps the time of its person's last act, in seconds since 1970.
ACTED_AT = "acted_at"
#: The time of the last act is written at most this often.
_WRITTEN_EVERY = 60


class IdleLockMiddleware(Middleware):
    """Ends a session in which nobody did anything for a while (SESSION_IDLE_SECONDS).

    A page that asks for news by itself (htmx, GET) does not keep the session alive: an unattended desk locks although
    a run's page is open on it.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            idle = timezone.now().timestamp() - float(request.session.get(ACTED_AT, 0))
            if ACTED_AT in request.session and idle > settings.SESSION_IDLE_SECONDS:
                logout(request)
            elif idle > min(_WRITTEN_EVERY, settings.SESSION_IDLE_SECONDS / 4) and not _asks_by_itself(
                request
            ):
                request.session[ACTED_AT] = timezone.now().timestamp()
        return self.get_response(request)


def _asks_by_itself(request: HttpRequest) -> bool:
    return request.method == "GET" and bool(request.htmx)
