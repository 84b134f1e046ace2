"""The people of a collection, and the language a person reads in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.i18n import LANGUAGE_QUERY_PARAMETER, set_language

from workbench.accounts.permissions import Permission, has_permission
from workbench.accounts.reauthentication import asks_again
from workbench.accounts.selectors import member_for, people_of
from workbench.documents.models import Collection
from workbench.documents.selectors import collection_for
from workbench.errors import WorkbenchError
from workbench.infra.acts import refused_in, told
from workbench.infra.addresses import public_address

from . import services
from .forms import InvitationForm, RoleForm


@login_not_required
@require_POST
def choose_language(request: HttpRequest) -> HttpResponse:
    """Django's switch, which keeps the choice in this browser; with an account it is kept there too."""
    if request.user.is_authenticated:
        # As in Django's own: a language that is none changes nothing and is no reason to stop somebody.
        with suppress(WorkbenchError):
            services.language_choose(
                user=request.user, language=request.POST.get(LANGUAGE_QUERY_PARAMETER, "")
            )
    return set_language(request)


@require_safe
def people(request: HttpRequest, slug: str) -> HttpResponse:
    """Who belongs to a collection and as what; auditors read it, admins change it."""
    collection = collection_for(user=request.user, slug=slug, permission=Permission.AUDIT)
    return _page(request, collection, InvitationForm())


@require_POST
@asks_again
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Gives a role by e-mail address; makes the account of somebody new."""
    collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
    form = InvitationForm(request.POST)
    if form.is_valid():
        with refused_in(form):
            made = services.user_invite(
                actor=request.user,
                collection=collection,
                build_url=partial(public_address, request=request),
                **form.cleaned_data,
            )
            said = _("%(person)s is now %(role)s.")
            messages.success(request, said % {"person": made.user, "role": made.get_role_display()})
            return redirect("accounts:people", slug=slug)
    return _page(request, collection, form, status=422)


@require_POST
@asks_again
def grant(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Gives a member one more role."""
    return _change(request, slug, pk, services.membership_grant)


@require_POST
@asks_again
def revoke(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Takes a role away from a member."""
    return _change(request, slug, pk, services.membership_revoke, with_reason=True)


@require_POST
@asks_again
def invite_again(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Sends the message to somebody who has not set a password yet."""
    collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
    user = member_for(collection=collection, pk=pk)
    with told(request):
        services.invitation_send(
            actor=request.user,
            user=user,
            collection=collection,
            build_url=partial(public_address, request=request),
        )
        messages.success(request, _("The invitation is on its way to %(email)s.") % {"email": user.email})
    return redirect("accounts:people", slug=slug)


def _change(
    request: HttpRequest, slug: str, pk: int, service: Callable[..., object], *, with_reason: bool = False
) -> HttpResponse:
    collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
    user = member_for(collection=collection, pk=pk)
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose one of the roles."))
        return redirect("accounts:people", slug=slug)
    details = form.cleaned_data if with_reason else {"role": form.cleaned_data["role"]}
    with told(request):
        service(actor=request.user, user=user, collection=collection, **details)
        messages.success(request, _("The roles of %(person)s have changed.") % {"person": user})
    return redirect("accounts:people", slug=slug)


def _page(
    request: HttpRequest, collection: Collection, form: InvitationForm, *, status: int = 200
) -> HttpResponse:
    context = {
        "collection": collection,
        "people": people_of(collection=collection),
        "form": form,
        "may_manage": has_permission(request.user, collection, Permission.MANAGE),
    }
    return render(request, "accounts/people.html", context, status=status)
