"""Pages for developers."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from .styleguide import example_context


@require_GET
def styleguide(request: HttpRequest) -> HttpResponse:
    """Every component of the design system in every state; only where the product is being developed."""
    if not settings.DEBUG:
        raise Http404
    return render(request, "styleguide.html", example_context())
