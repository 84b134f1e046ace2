"""Pages of exports."""

from __future__ import annotations

from datetime import date, timedelta

from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from workbench.accounts.models import User
from workbench.infra.acts import refused_in, told
from workbench.review.blindness import after_blind_decisions, require_sight, require_sight_of_collection
from workbench.runs.selectors import run_for

from . import presenters, selectors, services
from .forms import PeriodForm
from .models import ExportFile, ExportState
from .period_figures import period_figures
from .period_report import period_sections


@require_http_methods(["GET", "POST"])
def export_list(request: HttpRequest) -> HttpResponse:
    """A person's exports, and the form for a period where they may read a trail."""
    form = PeriodForm(request.POST or None, user=request.user, initial=last_month())
    if request.method == "POST" and form.is_valid():
        since, until = form.period()
        with refused_in(form):
            export = services.period_export(
                actor=request.user, collection=form.cleaned_data["collection"], since=since, until=until
            )
            return redirect(export)
    context = presenters.export_list(user=request.user, form=form)
    return render(request, "exports/exports.html", context)


@require_GET
@vary_on_headers("HX-Request")
def export_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """How far an export is, and its files."""
    export = selectors.export_for(user=request.user, pk=pk)
    name = "exports/export.html#live" if request.htmx else "exports/export.html"
    return render(request, name, presenters.export_page(export=export))


@require_http_methods(["GET", "POST"])
@after_blind_decisions
def period_report(request: HttpRequest) -> HttpResponse:
    """The figures of a period for an audit committee; a post has them made into files."""
    given = request.POST if request.method == "POST" else request.GET
    form = PeriodForm(given if "first" in given else None, user=request.user, initial=last_month())
    sections = None
    if form.is_valid():
        since, until = form.period()
        asked = {"collection": form.cleaned_data["collection"], "since": since, "until": until}
        if request.method == "POST":
            return redirect(services.period_report(actor=request.user, **asked))
        services.require_period(actor=request.user, **asked)
        sections = period_sections(period_figures(**asked), **asked)
    status = 422 if form.errors else 200
    context = {"form": form, "sections": sections, "crumbs": presenters.export_crumbs(_("Period report"))}
    return render(request, "exports/period_report.html", context, status=status)


def last_month() -> dict[str, date]:
    """The days that the forms of a period propose."""
    today = timezone.now().date()
    return {"first": (today.replace(day=1) - timedelta(days=1)).replace(day=1), "last": today}


@require_POST
def run_export(request: HttpRequest, pk: int) -> HttpResponse:
    """Asks for a run's report as HTML, PDF and DOCX."""
    run = run_for(user=request.user, pk=pk)
    with told(request):
        return redirect(services.run_export(actor=request.user, run=run))
    return redirect(run)


@require_GET
@after_blind_decisions
def fetch(request: HttpRequest, pk: int) -> FileResponse:
    """A file, as an attachment: nothing of it runs in the product's own pages."""
    return file_response(actor=request.user, file=selectors.file_for(user=request.user, pk=pk))


def file_response(*, actor: User, file: ExportFile) -> FileResponse:
    """The bytes of a file, and the record that they were fetched; 404 when the file was removed."""
    if file.export.run is not None:
        require_sight(user=actor, runs=[file.export.run])
    else:
        require_sight_of_collection(user=actor, collection=file.export.collection)
    if file.export.state != ExportState.READY or not default_storage.exists(file.path):
        raise Http404(_("This export was removed. Ask for it again."))
    services.export_fetched(actor=actor, file=file)
    response = FileResponse(
        default_storage.open(file.path, "rb"),
        as_attachment=True,
        filename=file.name,
        content_type=file.content_type,
    )
    response["Cache-Control"] = "private, no-store"
    return response
