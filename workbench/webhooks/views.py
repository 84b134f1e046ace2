"""Pages of webhooks: who reads the trail sees them with their log, admins change them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from workbench.accounts.permissions import Permission
from workbench.accounts.reauthentication import asks_again
from workbench.documents.selectors import collection_for
from workbench.infra.acts import refused_in, told

from . import presenters, services
from .forms import WebhookForm
from .models import Webhook
from .selectors import delivery_for, webhook_for


@never_cache
@require_http_methods(["GET", "POST"])
@asks_again
def webhooks(request: HttpRequest, slug: str) -> HttpResponse:
    """A collection's webhooks; a new one's secret is shown in the answer to this request, and never again."""
    permission = Permission.MANAGE if request.method == "POST" else Permission.AUDIT
    collection = collection_for(user=request.user, slug=slug, permission=permission)
    changes: dict[str, Any] = {}
    if request.method == "POST":
        form = WebhookForm(request.POST)
        changes["form"] = form
        if form.is_valid():
            with refused_in(form):
                _made, key = services.webhook_create(
                    actor=request.user, collection=collection, **form.cleaned_data
                )
                changes = {"secret": key}
    context = presenters.webhooks_page(collection=collection, user=request.user, **changes)
    return render(request, "webhooks/webhooks.html", context, status=422 if "form" in changes else 200)


@require_safe
def webhook(request: HttpRequest, pk: int) -> HttpResponse:
    found = webhook_for(user=request.user, pk=pk)
    return _page(request, found)


@require_POST
@asks_again
def change(request: HttpRequest, pk: int) -> HttpResponse:
    found = webhook_for(user=request.user, pk=pk, permission=Permission.MANAGE)
    form = WebhookForm(request.POST)
    if form.is_valid():
        with refused_in(form):
            services.webhook_change(actor=request.user, webhook=found, **form.cleaned_data)
            messages.success(request, _("The webhook has changed."))
            return redirect(found)
    return _page(request, found, status=422, form=form)


@never_cache
@require_POST
@asks_again
def secret(request: HttpRequest, pk: int) -> HttpResponse:
    """A new secret, shown in the answer to this request, and never again."""
    found = webhook_for(user=request.user, pk=pk, permission=Permission.MANAGE)
    return _page(request, found, secret=services.webhook_secret_renew(actor=request.user, webhook=found))


@require_POST
@asks_again
def switch(request: HttpRequest, pk: int) -> HttpResponse:
    found = webhook_for(user=request.user, pk=pk, permission=Permission.MANAGE)
    acts = {
        "pause": (services.webhook_pause, _("Paused. It receives no events.")),
        "resume": (services.webhook_resume, _("It receives events again.")),
        "remove": (services.webhook_remove, _("The webhook was removed.")),
    }
    name = request.POST.get("act", "")
    if name not in acts:
        messages.error(request, _("Choose what to do with the webhook."))
        return redirect(found)
    act, done = acts[name]
    with told(request, done):
        act(actor=request.user, webhook=found)
        return (
            redirect(found) if name != "remove" else redirect("webhooks:webhooks", slug=found.collection.slug)
        )
    return redirect(found)


@require_POST
def test(request: HttpRequest, pk: int) -> HttpResponse:
    found = webhook_for(user=request.user, pk=pk, permission=Permission.MANAGE)
    with told(request, _("A test is on its way. Look at the log in a moment.")):
        services.webhook_test(actor=request.user, webhook=found)
    return redirect(found)


@require_POST
def repeat_missed(request: HttpRequest, pk: int) -> HttpResponse:
    found = webhook_for(user=request.user, pk=pk, permission=Permission.MANAGE)
    with told(request):
        number = services.deliveries_repeat_missed(actor=request.user, webhook=found)
        said = ngettext("%(n)d delivery is sent again.", "%(n)d deliveries are sent again.", number)
        messages.success(request, said % {"n": number})
    return redirect(found)


@require_POST
def repeat(request: HttpRequest, pk: int) -> HttpResponse:
    delivery = delivery_for(user=request.user, pk=pk, permission=Permission.MANAGE)
    with told(request, _("The delivery is sent again.")):
        services.delivery_repeat(actor=request.user, delivery=delivery)
    return redirect(delivery.webhook)


def _page(request: HttpRequest, found: Webhook, *, status: int = 200, **changes: Any) -> HttpResponse:
    context = presenters.webhook_page(webhook=found, user=request.user, **changes)
    return render(request, "webhooks/webhook.html", context, status=status)
