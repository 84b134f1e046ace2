"""The endpoints of language models: who operates reads them, an administrator of the installation tests them."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from workbench.accounts.permissions import administers
from workbench.accounts.reauthentication import asks_again
from workbench.errors import NotAllowed, WorkbenchError

from .endpoints import endpoint_try, known_models
from .operations import may_operate


@require_http_methods(["GET", "HEAD", "POST"])
def endpoints_page(request: HttpRequest) -> HttpResponse:
    """The models and who asks them; POST asks one to say hello."""
    if request.method == "POST":
        return _tried(request)
    if not may_operate(request.user):
        raise PermissionDenied
    context = {"rows": known_models(user=request.user), "may_control": administers(request.user)}
    return render(request, "ops/endpoints.html", context)


@asks_again
def _tried(request: HttpRequest) -> HttpResponse:
    endpoint, model = request.POST.get("endpoint", ""), request.POST.get("model", "")
    try:
        trial = endpoint_try(actor=request.user, endpoint=endpoint, model=model)
    except NotAllowed as error:
        raise PermissionDenied from error
    except WorkbenchError as error:
        messages.error(request, error.message)
    else:
        (messages.success if trial.is_answered else messages.error)(request, trial.said)
    return redirect("ops:endpoints")
