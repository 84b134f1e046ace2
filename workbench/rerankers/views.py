"""Pages of the models: overview, card, training, drift, and a label's models."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from workbench.accounts.reauthentication import asks_again
from workbench.infra.acts import told
from workbench.labeling.models import Label
from workbench.review.blindness import of_hidden_card

from . import presenters, selectors, services
from .forms import ReasonForm, ScheduleForm

View = Callable[..., HttpResponse]


def for_readers(view: View) -> View:
    """Members and admins of the installation; what a page shows of a collection is filtered further."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not services.may_read(user=request.user):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return checked


@require_GET
@for_readers
def models(request: HttpRequest) -> HttpResponse:
    return render(request, "rerankers/models.html", presenters.models_page(user=request.user))


@require_GET
@for_readers
def version(request: HttpRequest, pk: int) -> HttpResponse:
    found = selectors.version_for(number=pk)
    return render(
        request, "rerankers/version.html", presenters.version_page(version=found, user=request.user)
    )


@require_GET
@for_readers
def training(request: HttpRequest, pk: int) -> HttpResponse:
    run = selectors.training_for(pk=pk)
    return render(request, "rerankers/training.html", presenters.training_page(run=run, user=request.user))


@require_GET
@for_readers
def progress(request: HttpRequest, pk: int) -> HttpResponse:
    """How far a training is; once it has ended the page is loaded anew."""
    run = selectors.training_for(pk=pk)
    context = {"progress": presenters.training_progress(run)}
    response = render(request, "partials/_progress.html", context)
    if not run.is_active:
        response["HX-Refresh"] = "true"
    return response


@require_GET
@for_readers
def drift(request: HttpRequest) -> HttpResponse:
    return render(request, "rerankers/drift.html", presenters.drift_page(user=request.user))


@require_GET
@for_readers
def label(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(
        Label.objects.visible_to(request.user)
        .exclude(of_hidden_card(user=request.user))
        .select_related("collection", "document", "person"),
        pk=pk,
    )
    return render(request, "rerankers/label.html", presenters.label_page(label=found))


@require_POST
@for_readers
def start(request: HttpRequest) -> HttpResponse:
    with told(request):
        run = services.training_start(actor=request.user)
        return redirect(run)
    return redirect("models:models")


@require_http_methods(["GET"])
@for_readers
def plan(request: HttpRequest) -> HttpResponse:
    """A dry run: what would be trained and measured now."""
    return render(request, "rerankers/plan.html", presenters.plan_page(user=request.user))


@require_POST
@for_readers
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    run = selectors.training_for(pk=pk)
    with told(request, _("The training was stopped.")):
        services.training_cancel(actor=request.user, run=run)
    return redirect(run)


@require_POST
@for_readers
@asks_again
def roll_back(request: HttpRequest, pk: int) -> HttpResponse:
    """A version that once passed serves again."""
    found = selectors.version_for(number=pk)
    form = ReasonForm(request.POST)
    if not form.is_valid():
        context = presenters.version_page(version=found, user=request.user, reason_form=form)
        return render(request, "rerankers/version.html", context, status=422)
    with told(request, _("%(version)s serves again.") % {"version": found}):
        services.model_roll_back(actor=request.user, version=found, reason=form.cleaned_data["reason"])
    return redirect(found)


@require_POST
@for_readers
@asks_again
def shadow(request: HttpRequest, pk: int) -> HttpResponse:
    found = selectors.version_for(number=pk)
    ends = request.POST.get("end") == "1"
    done = (
        _("No model is in shadow now.") if ends else _("%(version)s scores in shadow.") % {"version": found}
    )
    with told(request, done):
        services.model_shadow(actor=request.user, version=None if ends else found)
    return redirect(found)


@require_POST
@for_readers
@asks_again
def schedule(request: HttpRequest) -> HttpResponse:
    form = ScheduleForm.of(services.schedule_current(), request.POST)
    if form.is_valid():
        with told(request, _("The schedule was changed.")):
            services.schedule_change(actor=request.user, **form.cleaned_data)
            return redirect("models:models")
    context = presenters.models_page(user=request.user, schedule_form=form)
    return render(request, "rerankers/models.html", context, status=422)
