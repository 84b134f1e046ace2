"""Projects and the annotator's desk. Every act is a real form; htmx swaps the desk in place."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect, trigger_client_event

from workbench.accounts.permissions import Permission, permissions_in
from workbench.errors import WorkbenchError
from workbench.infra.acts import refused_in, told
from workbench.infra.addresses import number_in
from workbench.runs.models import RoleChoice

from . import presenters, supply, transfer
from . import projects as project_acts
from . import work as desk_work
from .forms import (
    AnswerForm,
    ElusionForm,
    FillForm,
    GuidelineForm,
    ImportForm,
    PassForm,
    ProjectForm,
    SupplyForm,
)
from .matching import match_by_worker
from .models import Project, Slot


@require_http_methods(["GET", "POST"])
def projects(request: HttpRequest) -> HttpResponse:
    """The projects; for admins the form that starts one."""
    form = ProjectForm(request.POST or None, user=request.user)
    if request.method == "POST" and form.is_valid():
        with refused_in(form):
            project = project_acts.project_create(actor=request.user, project=form.project())
            return redirect(project)
    may_create = form.fields["collection"].queryset.exists()
    context = presenters.projects_page(user=request.user, form=form if may_create else None)
    return render(request, "labeling/projects.html", context, status=422 if form.errors else 200)


@require_GET
def project(request: HttpRequest, pk: int) -> HttpResponse:
    """One project: where it stands, and how it is supplied."""
    found = presenters.project_for(user=request.user, pk=pk)
    return _project(request, found)


def _project(request: HttpRequest, project: Project, *, status: int = 200, **changes: object) -> HttpResponse:
    context = presenters.project_page(project=project, user=request.user, **changes)
    return render(request, "labeling/project.html", context, status=status)


@require_POST
def fill(request: HttpRequest, pk: int) -> HttpResponse:
    found = presenters.project_for(user=request.user, pk=pk)

    def act(given: dict[str, Any]) -> str:
        return _supplied(supply.pairs_add_from_runs(actor=request.user, project=found, **given))

    return _carried_out(request, found, act, fill_form=FillForm(request.POST, project=found))


@require_POST
def supply_change(request: HttpRequest, pk: int) -> HttpResponse:
    """How many pairs are to wait for annotators."""
    found = presenters.project_for(user=request.user, pk=pk)

    def act(given: dict[str, Any]) -> str:
        project_acts.project_supply(actor=request.user, project=found, **given)
        return _("Saved.")

    return _carried_out(request, found, act, supply_form=SupplyForm(request.POST))


@require_POST
def elusion(request: HttpRequest, pk: int) -> HttpResponse:
    found = presenters.project_for(user=request.user, pk=pk)

    def act(given: dict[str, Any]) -> str:
        sample = supply.elusion_draw(actor=request.user, project=found, seed=secrets.randbits(32), **given)
        drawn = sample.pairs.count()
        return ngettext(
            "%(n)d of %(all)d discarded passages drawn.", "%(n)d of %(all)d discarded passages drawn.", drawn
        ) % {"n": drawn, "all": sample.population}

    form = ElusionForm(request.POST, project=found, prefix="elusion")
    return _carried_out(request, found, act, elusion_form=form)


@require_POST
def guidelines(request: HttpRequest, pk: int) -> HttpResponse:
    found = presenters.project_for(user=request.user, pk=pk)

    def act(given: dict[str, Any]) -> str:
        version = project_acts.guideline_write(actor=request.user, project=found, **given)
        return _("Version %(n)d is published.") % {"n": version.number}

    return _carried_out(request, found, act, guideline_form=GuidelineForm(request.POST))


def _carried_out(
    request: HttpRequest, project: Project, act: Callable[[dict[str, Any]], str], **sent: Form
) -> HttpResponse:
    """Carries out what a valid form asks for and says what ``act`` says; else the project with the form as it was
    sent."""
    (form,) = sent.values()
    if form.is_valid():
        with refused_in(form):
            messages.success(request, act(form.cleaned_data))
            return redirect(project)
    return _project(request, project, status=422, **_shown(request, project, **sent))


@require_POST
def import_file(request: HttpRequest, pk: int) -> HttpResponse:
    """Checks a file, or takes it in, and shows what became of its rows."""
    found = presenters.project_for(user=request.user, pk=pk)
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _project(request, found, status=422, **_shown(request, found, import_form=form))
    try:
        report = _take_in(request, found, form)
    except WorkbenchError as error:
        form.add_error("file", error.message)
        return _project(request, found, status=422, **_shown(request, found, import_form=form))
    status = 422 if report.bad_count else 200
    return _project(request, found, status=status, report=report, **_shown(request, found, import_form=form))


def _take_in(request: HttpRequest, project: Project, form: ImportForm) -> transfer.ImportReport:
    cleaned = form.cleaned_data
    content = cleaned["file"].read(transfer.MAX_BYTES + 1)
    if cleaned["kind"] == "pairs":
        return transfer.pairs_import(
            actor=request.user, project=project, content=content, dry_run=cleaned["dry_run"]
        )
    return transfer.labels_import(
        actor=request.user,
        collection=project.collection,
        content=content,
        file_name=cleaned["file"].name,
        source=cleaned["kind"],
        judge=cleaned["judge"],
        is_gold=cleaned["is_gold"],
        dry_run=cleaned["dry_run"],
        match=match_by_worker,
    )


def _shown(request: HttpRequest, project: Project, **forms: object) -> dict[str, object]:
    """A form as it was sent, for those who are shown it at all."""
    manages = Permission.MANAGE in permissions_in(request.user, project.collection)
    if not manages:
        messages.error(request, _("Only admins of this collection may do that."))
    return forms if manages else {}


@require_POST
def set_open(request: HttpRequest, pk: int) -> HttpResponse:
    found = presenters.project_for(user=request.user, pk=pk)
    with told(request):
        project_acts.project_close(actor=request.user, project=found, is_open=request.POST.get("open") == "1")
    return redirect(found)


# --- the desk ---------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def work(request: HttpRequest, pk: int) -> HttpResponse:
    """The desk with the pair that lies on it; posting takes the next."""
    found = presenters.project_for(user=request.user, pk=pk, permission=Permission.LABEL)
    if request.method == "POST":
        with told(request):
            desk_work.slot_claim_next(actor=request.user, project=found)
            return redirect("labeling:work", pk=pk)
        return redirect(found)
    context = presenters.work_page(
        project=found, user=request.user, page_num=number_in(request.GET.get("page"))
    )
    return render(request, "labeling/work.html", context)


@require_POST
def answer(request: HttpRequest, pk: int) -> HttpResponse:
    """One judgment, and the next pair."""
    slot = presenters.slot_for(user=request.user, pk=pk)
    form = AnswerForm(request.POST)
    try:
        desk_work.slot_answer(
            actor=request.user, slot=slot, role=form.cleaned_data["role"] if form.is_valid() else ""
        )
    except WorkbenchError as error:
        return _desk(request, slot.pair.project, error=error)
    role = RoleChoice(form.cleaned_data["role"]).label
    return _desk(request, slot.pair.project, said=_("Recorded: %(role)s.") % {"role": role})


@require_POST
def pass_over(request: HttpRequest, pk: int) -> HttpResponse:
    """Can't tell, or later; and the next pair."""
    slot = presenters.slot_for(user=request.user, pk=pk)
    form = PassForm(request.POST)
    try:
        desk_work.slot_pass(
            actor=request.user, slot=slot, kind=form.cleaned_data["kind"] if form.is_valid() else ""
        )
    except WorkbenchError as error:
        return _desk(request, slot.pair.project, error=error)
    return _desk(request, slot.pair.project, said=_("Skipped."))


@require_POST
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    """Takes back the last act and lays its pair on the desk."""
    found = presenters.project_for(user=request.user, pk=pk, permission=Permission.LABEL)
    try:
        desk_work.undo_last(actor=request.user, project=found)
    except WorkbenchError as error:
        return _desk(request, found, error=error)
    return _desk(request, found, said=_("Taken back."))


@require_POST
def release(request: HttpRequest, pk: int) -> HttpResponse:
    slot = presenters.slot_for(user=request.user, pk=pk)
    with told(request):
        desk_work.slot_release(actor=request.user, slot=slot)
    return redirect(slot.pair.project)


def _desk(
    request: HttpRequest, project: Project, *, said: str = "", error: WorkbenchError | None = None
) -> HttpResponse:
    """The next pair, with a word on what was just done; the page again where there is no script."""
    slot: Slot | None = None
    try:
        slot = desk_work.slot_claim_next(actor=request.user, project=project)
    except WorkbenchError as refused:
        messages.error(request, refused.message)
        return HttpResponseClientRedirect(project.get_absolute_url()) if request.htmx else redirect(project)
    if not request.htmx:
        if error is not None:
            messages.error(request, error.message)
        else:
            messages.success(request, said)
        return redirect("labeling:work", pk=project.pk)
    context = presenters.desk(project=project, user=request.user, slot=slot) | {
        "said": said,
        "error": error.message if error else "",
    }
    response = render(request, "labeling/work.html#desk", context, status=409 if error else 200)
    question = slot.pair.question if slot else _("Nothing is left for you here.")
    return trigger_client_event(
        response, "workbench:announce", {"text": f"{error.message if error else said} {question}"}
    )


def _supplied(supplied: supply.Supplied) -> str:
    added = ngettext("%(n)d pair added", "%(n)d pairs added", supplied.added) % {"n": supplied.added}
    double = ngettext(
        "%(n)d of them goes to two people", "%(n)d of them go to two people", supplied.double
    ) % {"n": supplied.double}
    known = ngettext("%(n)d existed already", "%(n)d existed already", supplied.known) % {"n": supplied.known}
    return f"{added}; {double}; {known}."


@require_GET
def corrected(request: HttpRequest) -> HttpResponse:
    return render(request, "labeling/corrected.html", presenters.corrected_page(user=request.user))
