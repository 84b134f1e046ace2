"""What Django's admin site offers here: the second factor of somebody who lost it is taken away, on record.

Other packages register tables of theirs there, whose changes would leave no trace in the trail (groups, addresses,
providers): they are taken out. Everything else has pages of its own.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from allauth.mfa.models import Authenticator
from django.apps import apps
from django.contrib import admin
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from .services import second_factor_remove

for _app in list(apps.get_app_configs()):
    # Now, and not when Django comes to them after this module.
    if not _app.name.startswith("workbench.") and find_spec(f"{_app.name}.admin"):
        import_module(f"{_app.name}.admin")
for _model in list(admin.site._registry):
    admin.site.unregister(_model)


@admin.register(Authenticator)
class AuthenticatorAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Second factors: to be seen without their secrets, and removed."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type",)
    fields = ("user", "type", "created_at", "last_used_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """People add their own."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Authenticator | None = None) -> bool:
        """Nobody changes one."""
        return False

    def delete_model(self, request: HttpRequest, obj: Authenticator) -> None:
        """Takes it away."""
        second_factor_remove(actor=request.user, authenticator=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Authenticator]) -> None:
        """Takes them away, all or none."""
        with transaction.atomic():
            for authenticator in queryset:
                second_factor_remove(actor=request.user, authenticator=authenticator)


def _own_password_page(request: HttpRequest, extra_context: object = None) -> HttpResponse:
    return redirect("account_change_password")


# The site's own page would change a password without an event.
admin.site.password_change = _own_password_page
