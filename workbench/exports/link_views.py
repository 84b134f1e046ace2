"""Links for outsiders: their page for members, and what an outsider sees."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from workbench.errors import WorkbenchError
from workbench.infra.acts import refused_in, told
from workbench.infra.addresses import address_of, public_address
from workbench.runs.selectors import run_for

from . import links as service
from . import presenters
from .forms import LinkForm

#: A report is one page with its style and its images inside; it loads, sends and runs nothing.
_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)
_HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}


@never_cache
@require_http_methods(["GET", "POST"])
def links(request: HttpRequest, pk: int) -> HttpResponse:
    """The links of a run; a new one's address is shown in the answer to this request, and never again."""
    run = run_for(user=request.user, pk=pk)
    form = LinkForm(request.POST or None)
    changes: dict[str, Any] = {}
    if request.method == "POST" and form.is_valid():
        with refused_in(form):
            _made, token = service.link_make(actor=request.user, run=run, **form.cleaned_data)
            changes = {"address": public_address(reverse("exports:shared", args=[token]), request)}
            form = LinkForm()
    context = presenters.links_page(run=run, user=request.user, form=form) | changes
    return render(request, "exports/links.html", context, status=422 if form.errors else 200)


@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    link = service.link_for(user=request.user, pk=pk)
    with told(request, _("The link is revoked.")):
        service.link_revoke(actor=request.user, link=link)
    return redirect("exports:links", pk=link.run_id)


@login_not_required
@require_GET
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """The report behind a link, for whoever has it. Each opening is on record; nothing is set in the browser."""
    status, text = 503, _("The report is being prepared. Open the link again in a minute.")
    try:
        report = service.link_open(token=token, address=address_of(request))
    except WorkbenchError as error:
        report, status, text = None, error.status, error.message
    if report is not None:
        return HttpResponse(report, content_type="text/html; charset=utf-8", headers=_HEADERS)
    headers = _HEADERS | ({} if status == 404 else {"Retry-After": "60"})
    return HttpResponse(text, content_type="text/plain; charset=utf-8", status=status, headers=headers)
