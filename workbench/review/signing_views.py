"""Signing a run, and reopening it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from workbench.infra.acts import refused_in, told
from workbench.runs.selectors import run_for

from . import signing, signing_page
from .forms import ReasonForm, SignForm


@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def sign(request: HttpRequest, pk: int) -> HttpResponse:
    """What is signed, and the form; for a signed run the signature and whether it holds."""
    run = run_for(user=request.user, pk=pk)
    form = SignForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with refused_in(form):
            signing.run_sign(actor=request.user, run=run, **form.cleaned_data)
            messages.success(request, _("Signed."))
            return redirect(run)
    context = signing_page.sign_page(run=run, user=request.user, form=form)
    return render(request, "review/sign.html", context, status=422 if form.errors else 200)


@require_POST
def reopen(request: HttpRequest, pk: int) -> HttpResponse:
    run = run_for(user=request.user, pk=pk)
    form = ReasonForm(request.POST)
    with told(request):
        signing.run_reopen(
            actor=request.user, run=run, reason=form.cleaned_data["reason"] if form.is_valid() else ""
        )
        messages.success(request, _("The run is open for decisions again."))
        return redirect(run)
    return redirect("review:sign", pk=pk)
