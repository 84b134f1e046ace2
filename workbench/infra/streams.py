"""Answers that go on: server-sent events, bounded in time, and in number for each person.

The application server gives a request that asks for ``text/event-stream`` a thread kept for such answers
(``operations/server.py``), so that pages never wait for them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

from django.core.cache import cache
from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from rest_framework.renderers import JSONRenderer

from workbench.errors import Unavailable, WorkbenchError

from .stopping import STOPPING

MEDIA_TYPE = "text/event-stream"
#: The longest that one answer goes on. A client that asks again goes on where this one ended.
SECONDS = 60.0
#: Between two looks; a client that has lost the answer asks again after as long.
PAUSE = 1.0
#: Something is said at least this often, so that proxies keep the connection and a client that left is noticed.
QUIET_SECONDS = 10.0
PER_PERSON = 3

#: One look, which keeps no database connection: what there is to tell now, and whether that is all.
Look = Callable[[], tuple[dict[str, Any] | None, bool]]


class WrongAccept(WorkbenchError):
    """An answer that goes on was not asked for as one."""

    status = 406
    code = "ask_for_event_stream"


class EventStreamRenderer(JSONRenderer):
    """Lets the kind be asked for. Refusals are JSON."""

    media_type = MEDIA_TYPE
    format = "events"


def require_asked_for(accept: str) -> None:
    """Raises :class:`WrongAccept` for a request that the server did not give a thread of this kind."""
    if MEDIA_TYPE not in accept:
        raise WrongAccept(_("Send the header Accept: text/event-stream."))


def event_stream(*, user_id: int, look: Look) -> StreamingHttpResponse:
    """Tells what changes, once a second, until there is no more. Raises :class:`Unavailable` when the person follows
    too many already."""
    slot = _slot_of(user_id)
    return StreamingHttpResponse(
        _Events(slot, look), content_type=f"{MEDIA_TYPE}; charset=utf-8", headers={"X-Accel-Buffering": "no"}
    )


class _Events:
    """The events; closed by the server when the answer ends or the client is gone, also before the first."""

    def __init__(self, slot: str, look: Look) -> None:
        self._slot, self._events = slot, _told(look)

    def __iter__(self) -> Iterator[str]:
        return self._events

    def close(self) -> None:
        """Gives the person's place back."""
        self._events.close()
        cache.delete(self._slot)


def _told(look: Look) -> Generator[str]:
    yield f"retry: {int(PAUSE * 1000)}\n\n"
    until = time.monotonic() + SECONDS
    last: dict[str, Any] | None = None
    said = time.monotonic()
    while True:
        now, is_last = look()
        if now is not None and now != last:
            yield f"event: progress\ndata: {json.dumps(now)}\n\n"
            last, said = now, time.monotonic()
        elif time.monotonic() - said > QUIET_SECONDS:
            yield ": still here\n\n"
            said = time.monotonic()
        if is_last:
            yield "event: end\ndata: {}\n\n"
            return
        if time.monotonic() > until or STOPPING.wait(PAUSE):
            return


def _slot_of(user_id: int) -> str:
    for number in range(PER_PERSON):
        slot = f"events:{user_id}:{number}"
        # It ends by itself where the process was killed.
        if cache.add(slot, 1, int(SECONDS + 2 * QUIET_SECONDS)):
            return slot
    raise Unavailable(
        _("You follow %(n)d runs already. Close one, or ask for the run itself.") % {"n": PER_PERSON},
        code="too_many_streams",
    )
