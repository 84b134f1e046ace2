"""Refuses undeclared query parameters: a filter with a typo in its name would filter nothing."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError

from .filtering import parameter_names

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.viewsets import GenericViewSet


def refuse_unknown(view: GenericViewSet[Any], request: Request) -> None:
    """Raises ``ValidationError`` naming each parameter that is not in the API description (``extend_schema``) of this
    action, and those that are."""
    if not request.query_params:
        return
    known = _declared(view, str(request.method))
    if request.method == "GET" and view.paginator is not None and view.action != "retrieve":
        known |= {view.paginator.cursor_query_param, view.paginator.page_size_query_param}
    known |= parameter_names(view)
    unknown = sorted(set(request.query_params) - known)
    if unknown:
        there_are = ", ".join(sorted(known)) or _("none")
        said = _("Unknown parameter. Known parameters: %(known)s.") % {"known": there_are}
        raise ValidationError({name: [said] for name in unknown})


def _declared(view: GenericViewSet[Any], method: str) -> set[str]:
    """The query parameters that ``extend_schema`` names for the action."""
    handler = getattr(view, str(view.action), None)
    schema_class = getattr(handler, "kwargs", {}).get("schema")
    if schema_class is None:
        return set()
    schema = schema_class()
    schema.view, schema.method = view, method
    names: set[str] = set()
    for parameter in schema.get_override_parameters():
        if not isinstance(parameter, OpenApiParameter):
            names |= set((parameter() if inspect.isclass(parameter) else parameter).fields)
        elif parameter.location == OpenApiParameter.QUERY:
            names.add(parameter.name)
    return names
