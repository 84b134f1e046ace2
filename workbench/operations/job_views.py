"""Maintenance: auditors have the trail verified, administrators do what would need a shell."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from workbench.errors import NotAllowed, WorkbenchError

from .forms import AnchorsForm
from .job_page import jobs_page
from .jobs import job_start
from .operations import may_operate


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
def jobs(request: HttpRequest) -> HttpResponse:
    """Each kind of work with its last outcome; asking for one. What is under way goes on."""
    if not may_operate(request.user):
        raise PermissionDenied
    if request.method == "POST":
        return _start(request)
    context = jobs_page(user=request.user)
    if not request.htmx:
        return render(request, "ops/maintenance.html", context)
    response = render(request, "ops/maintenance.html#live", context)
    if not context["is_working"]:
        response["HX-Refresh"] = "true"
    return response


def _start(request: HttpRequest) -> HttpResponse:
    form = AnchorsForm(request.POST, request.FILES)
    if not form.is_valid():
        return render(request, "ops/maintenance.html", jobs_page(user=request.user, anchors=form), status=422)
    kind, anchors = request.POST.get("kind", ""), form.cleaned_data["anchors"]
    try:
        job_start(actor=request.user, kind=kind, anchors=anchors)
    except NotAllowed as error:
        raise PermissionDenied from error
    except WorkbenchError as error:
        messages.error(request, error.message)
    return redirect("ops:jobs")
