"""Home, health, and what has no better place."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from workbench.accounts.permissions import Permission, permissions_anywhere
from workbench.documents.selectors import collections_with_counts
from workbench.review.run_list import runs_listed
from workbench.review.waiting import waiting_for

from . import selectors
from .guide import first_questions
from .metrics.page import metrics_page
from .tour import tour_is_due


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    context = {
        "may_ask": Permission.ASK in permissions_anywhere(user=request.user),
        "to_review": waiting_for(user=request.user).to_review,
        "stats": selectors.home_stats(user=request.user),
        "recent": runs_listed(user=request.user)[:6],
        "collections": collections_with_counts(user=request.user),
        "tour_is_due": tour_is_due(user=request.user),
        "first_questions": first_questions(user=request.user),
    }
    return render(request, "ops/home.html", context)


@require_GET
@login_not_required
def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers."""
    return JsonResponse({"status": "ok"})


@require_GET
@login_not_required
def readyz(request: HttpRequest) -> JsonResponse:
    """The process can do its work: the database answers."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Exception as error:
        return JsonResponse({"status": "unavailable", "database": type(error).__name__}, status=503)
    return JsonResponse({"status": "ok", "database": "ok"})


@require_GET
@login_not_required
def metrics(request: HttpRequest) -> HttpResponse:
    """Figures for Prometheus, for whoever has the token or asks from a named network; off until one is set up."""
    return metrics_page(request)
