"""The trail page."""

from __future__ import annotations

import json

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from workbench.audit.export import audit_anchor
from workbench.audit.services import VERIFIED_AT_ONCE, VerifyReport, audit_verify
from workbench.errors import Conflict
from workbench.infra.exports import download
from workbench.infra.replica import from_replica

from .forms import TrailFilterForm
from .presenters import filters_of, pager_of
from .selectors import audited_collections, may_read_trail, trail_page


@require_safe
@from_replica
def trail(request: HttpRequest) -> HttpResponse:
    """The events that the person may read, newest first, filtered by the address."""
    return _trail(request)


@require_POST
def verify(request: HttpRequest) -> HttpResponse:
    """Verifies the chain (of a very long one the newest part) and shows the outcome above the trail."""
    return _trail(request, verification=True)


@require_POST
def anchor(request: HttpRequest) -> HttpResponse:
    """The head of the chain as a file to keep elsewhere."""
    if not may_read_trail(user=request.user):
        raise PermissionDenied
    try:
        anchors = audit_anchor(actor=request.user)
    except Conflict as error:
        messages.error(request, error.message)
        return redirect("audit:trail")
    body = "".join(json.dumps(each) + "\n" for each in anchors)
    return download(body, f"audit-anchor-{anchors[-1]['position']}.jsonl")


def _trail(request: HttpRequest, *, verification: bool = False) -> HttpResponse:
    user = request.user
    collections = audited_collections(user=user)
    if not collections and not user.is_staff:
        raise PermissionDenied
    form = TrailFilterForm(request.GET, collections=collections, is_staff=user.is_staff)
    if form.names_unknown_collection:
        raise Http404
    page = trail_page(
        user=user,
        filters=form.to_filter(),
        before=form.cleaned_data.get("before"),
        after=form.cleaned_data.get("after"),
        collections=collections,
    )
    report: VerifyReport | None = audit_verify(newest=VERIFIED_AT_ONCE) if verification else None
    context = {
        "form": form,
        "rows": page.rows,
        "filters": filters_of(form, request.GET),
        "pager": pager_of(page, request.GET),
        "report": report,
    }
    return render(request, "audit/trail.html", context)
