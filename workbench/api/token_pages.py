"""The pages of those who write programs: their API tokens, and what the API offers."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from workbench.accounts.permissions import Permission
from workbench.accounts.reauthentication import asks_again
from workbench.infra.acts import refused_in, told

from .tokens import LONGEST_DAYS, token_create, token_for, token_revoke, tokens_of

app_name = "tokens"

SCOPES = {
    Permission.VIEW: gettext_lazy("read: collections, documents, runs, decisions"),
    Permission.UPLOAD: gettext_lazy("upload documents"),
    Permission.ASK: gettext_lazy("ask questions"),
    Permission.REVIEW: gettext_lazy("decide verdicts"),
    Permission.LABEL: gettext_lazy("label passages"),
    Permission.MANAGE: gettext_lazy("manage collections"),
    Permission.AUDIT: gettext_lazy("read the audit trail"),
}


class TokenForm(forms.Form):
    name = forms.CharField(label=gettext_lazy("What it is for"), max_length=80)
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Scopes"),
        choices=list(SCOPES.items()),
        widget=forms.CheckboxSelectMultiple(),
        help_text=gettext_lazy("At most what you may do yourself, in the collections you belong to."),
    )
    days = forms.IntegerField(
        label=gettext_lazy("Days it lasts"), min_value=1, max_value=LONGEST_DAYS, initial=90
    )


@never_cache
@require_http_methods(["GET", "POST"])
@asks_again
def tokens(request: HttpRequest) -> HttpResponse:
    """One's tokens; a new one's key is shown in the answer to this request, and never again."""
    form = TokenForm(request.POST or None)
    key = ""
    if request.method == "POST" and form.is_valid():
        with refused_in(form):
            _token, key = token_create(actor=request.user, **form.cleaned_data)
            form = TokenForm()
    now = timezone.now()
    rows = [
        {
            "token": token,
            "scopes": [SCOPES[Permission(scope)] for scope in token.scopes],
            "state": _state(token.revoked_at is not None, token.expires_at <= now),
        }
        for token in tokens_of(user=request.user)[:50]
    ]
    status = 422 if form.errors else 200
    return render(request, "accounts/tokens.html", {"form": form, "rows": rows, "key": key}, status=status)


def _state(is_revoked: bool, is_over: bool) -> str:
    if is_revoked:
        return _("revoked")
    return _("expired") if is_over else ""


@require_POST
@asks_again
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """The token opens nothing from now on."""
    token = token_for(user=request.user, pk=pk)
    with told(request):
        token_revoke(actor=request.user, token=token)
        messages.success(request, _("“%(name)s” is revoked.") % {"name": token.name})
    return redirect("tokens:tokens")


@require_safe
def documentation(request: HttpRequest) -> HttpResponse:
    """The description of the API, to read and to try."""
    return render(request, "api/documentation.html")


urlpatterns = [
    path("api/", documentation, name="documentation"),
    path("tokens/", tokens, name="tokens"),
    path("tokens/<int:pk>/revoke/", revoke, name="revoke"),
]
