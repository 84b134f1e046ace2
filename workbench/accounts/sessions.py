"""Sessions of a person, wherever they are signed in."""

from __future__ import annotations

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.utils import timezone

from .models import User


def sessions_end(*, user: User) -> int:
    """Signs the person out of every browser; gives the number of sessions. A session names its person inside, so all
    living ones are read: they last a day at most."""
    living = Session.objects.filter(expire_date__gt=timezone.now()).iterator(chunk_size=2000)
    keys = [row.pk for row in living if row.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=keys).delete()
    return len(keys)
