"""The page of a run at an earlier time."""

from __future__ import annotations

from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from workbench.infra.addresses import words_in
from workbench.infra.replica import from_replica
from workbench.runs.models import ReviewState
from workbench.runs.selectors import run_for
from workbench.runs.words import run_crumbs

from .as_of import run_as_of
from .blindness import after_blind_decisions, require_sight


@require_GET
@from_replica
@after_blind_decisions
def as_of(request: HttpRequest, pk: int) -> HttpResponse:
    """The state of a run at the time given in the address (``at``, UTC), or now."""
    run = run_for(user=request.user, pk=pk)
    require_sight(user=request.user, runs=[run])
    raw = words_in(request.GET.get("at"))
    moment = moment_in(raw)
    then = run_as_of(run=run, at=moment or timezone.now())
    context = {
        "run": run,
        "then": then,
        "at_value": then.at.strftime("%Y-%m-%dT%H:%M:%S"),
        "error": _("This is not a time. Write it as 2026-11-22T14:30.") if raw and moment is None else "",
        "review_state": ReviewState(then.review_state).label,
        "crumbs": run_crumbs(run, here=_("As of")),
    }
    return render(request, "review/as_of.html", context, status=422 if context["error"] else 200)


def moment_in(raw: str) -> datetime | None:
    """The time in a value of an address, in UTC if it names no zone; None if it is not a time."""
    try:
        moment = parse_datetime(raw)
    except ValueError:
        return None
    if moment is None:
        return None
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        return None
