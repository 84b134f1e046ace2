"""The page on which admins say what the groups of their directory stand for."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from workbench.accounts.permissions import Permission, has_permission
from workbench.accounts.reauthentication import asks_again
from workbench.documents.models import Collection
from workbench.documents.selectors import collection_for
from workbench.infra.acts import refused_in

from .forms import GroupRoleForm
from .groups import group_role_add, group_role_remove, group_roles_of


@require_http_methods(["GET", "HEAD", "POST"])
@asks_again
def groups(request: HttpRequest, slug: str) -> HttpResponse:
    """What groups stand for in a collection: auditors read it, admins add to it."""
    if request.method != "POST":
        collection = collection_for(user=request.user, slug=slug, permission=Permission.AUDIT)
        return _page(request, collection, GroupRoleForm())
    collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
    form = GroupRoleForm(request.POST)
    if form.is_valid():
        with refused_in(form):
            row = group_role_add(actor=request.user, collection=collection, **form.cleaned_data)
            said = _("Members of %(group)s are now %(role)s.")
            messages.success(request, said % {"group": row.group, "role": row.get_role_display()})
            return redirect("directory:groups", slug=slug)
    return _page(request, collection, form, status=422)


@require_POST
@asks_again
def group_remove(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Ends what a group stands for."""
    collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
    group_role_remove(actor=request.user, collection=collection, pk=pk)
    messages.success(request, _("Roles held through this group alone are gone."))
    return redirect("directory:groups", slug=slug)


def _page(
    request: HttpRequest, collection: Collection, form: GroupRoleForm, *, status: int = 200
) -> HttpResponse:
    context = {
        "collection": collection,
        "rows": group_roles_of(collection=collection),
        "form": form,
        "may_manage": has_permission(request.user, collection, Permission.MANAGE),
    }
    return render(request, "directory/groups.html", context, status=status)
