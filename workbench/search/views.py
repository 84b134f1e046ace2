"""The search page."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from .forms import SearchForm
from .presenters import search_page


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Passages that hold some words, in all of the person's collections or fewer; the address is the search."""
    form = SearchForm(request.GET, user=request.user)
    is_valid = form.is_valid()
    if form.names_unknown:
        raise Http404
    context = search_page(user=request.user, query=request.GET, form=form)
    return render(
        request, "search/search.html", context, status=400 if "q" in request.GET and not is_valid else 200
    )
