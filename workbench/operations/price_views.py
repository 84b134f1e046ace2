"""What models cost: who operates reads it, an administrator of the installation changes it."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from workbench.accounts.permissions import administers
from workbench.accounts.reauthentication import asks_again
from workbench.infra.acts import refused_in
from workbench.runs.models import ModelPrice
from workbench.runs.prices import (
    models_without_price,
    price_remove,
    price_set,
    prices_listed,
)

from .forms import PriceForm, PriceRemovalForm
from .operations import may_operate


@require_http_methods(["GET", "HEAD", "POST"])
def prices_page(request: HttpRequest) -> HttpResponse:
    """The prices; POST sets one."""
    return _set(request) if request.method == "POST" else _page(request)


@asks_again
def _set(request: HttpRequest) -> HttpResponse:
    form = PriceForm(request.POST)
    return _carried_out(
        request,
        form,
        lambda: price_set(actor=request.user, **form.cleaned_data),
        _("The price applies from the next call on."),
    )


@require_POST
@asks_again
def remove(request: HttpRequest) -> HttpResponse:
    form = PriceRemovalForm(request.POST)
    return _carried_out(
        request,
        form,
        lambda: price_remove(actor=request.user, **form.cleaned_data),
        _("The price is removed. What the model costs is unknown from the next call on."),
    )


def _carried_out(request: HttpRequest, form: Form, act: Callable[[], object], done: str) -> HttpResponse:
    if not administers(request.user):
        raise PermissionDenied
    if form.is_valid():
        with refused_in(form):
            act()
            messages.success(request, done)
            return redirect("ops:prices")
    return _page(request, form=form, status=422)


def _page(request: HttpRequest, *, form: Form | None = None, status: int = 200) -> HttpResponse:
    if not may_operate(request.user):
        raise PermissionDenied
    rows = list(prices_listed())
    context = {
        "rows": rows,
        "unpriced": models_without_price(),
        "may_control": administers(request.user),
        "form": form if isinstance(form, PriceForm) else PriceForm(initial=_asked_for(request, rows)),
        "removal": form if isinstance(form, PriceRemovalForm) else None,
    }
    return render(request, "ops/prices.html", context, status=status)


def _asked_for(request: HttpRequest, rows: list[ModelPrice]) -> dict[str, object]:
    """The form filled with what is known of the model that the address names."""
    model = request.GET.get("model", "")[:120]
    for row in rows:
        if row.model == model:
            return {"model": model, "fresh": row.input, "cached": row.cached_input, "output": row.output}
    return {"model": model}
