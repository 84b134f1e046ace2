"""Pages of comments and notifications."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from workbench.infra.acts import told
from workbench.infra.addresses import number_in
from workbench.runs.selectors import run_for

from . import comments, notifications
from .blindness import of_hidden_card
from .forms import CommentForm, WishForm
from .models import Notification

PAGE_SIZE = 50


@require_POST
def comment(request: HttpRequest, pk: int) -> HttpResponse:
    run = run_for(user=request.user, pk=pk)
    form = CommentForm(request.POST)
    back = f"{run.get_absolute_url()}?tab=comments"
    if not form.is_valid():
        messages.error(request, _("Write something, at most 4000 characters."))
        return redirect(back)
    name = form.cleaned_data["candidate"]
    candidate = get_object_or_404(run.candidates, candidate_id=name) if name else None
    with told(request):
        outcome = comments.comment_add(
            actor=request.user, run=run, body=form.cleaned_data["body"], candidate=candidate
        )
        if outcome.unknown:
            names = ", ".join(f"@{name}" for name in outcome.unknown)
            messages.warning(request, _("Nobody here is named %(names)s.") % {"names": names})
        return redirect(f"{back}#comment-{outcome.comment.pk}")
    return redirect(back)


@require_http_methods(["GET", "POST"])
def notification_list(request: HttpRequest) -> HttpResponse:
    wish = notifications.wish_of(user=request.user)
    form = WishForm(request.POST or None, initial={"email": wish.email})
    if request.method == "POST" and form.is_valid():
        notifications.wish_set(user=request.user, email=form.cleaned_data["email"])
        messages.success(request, _("Kept."))
        return redirect("review:notifications")
    rows = Notification.objects.visible_to(request.user).select_related(
        "actor", "collection", "run__question", "candidate", "comment"
    )
    rows = rows.annotate(is_hidden=of_hidden_card(user=request.user))
    before = number_in(request.GET.get("before"))
    rows = rows if before is None else rows.filter(pk__lt=before)
    found = list(rows[: PAGE_SIZE + 1])
    more = f"?before={found[PAGE_SIZE - 1].pk}" if len(found) > PAGE_SIZE else ""
    context = {
        "rows": [{"row": row, **notifications.line_of(row)} for row in found[:PAGE_SIZE]],
        "form": form,
        "pager": {"shown": len(found[:PAGE_SIZE]), "next_url": more, "first_url": ""},
    }
    return render(request, "review/notifications.html", context, status=422 if form.errors else 200)


@require_POST
def notification_read(request: HttpRequest) -> HttpResponse:
    """Marks one (``pk``) or all as read. One redirects to its subject."""
    key = number_in(request.POST.get("pk"))
    if key is None:
        notifications.notifications_read(user=request.user)
        return redirect("review:notifications")
    row = get_object_or_404(
        Notification.objects.visible_to(request.user).select_related("run", "candidate", "actor"), pk=key
    )
    notifications.notifications_read(user=request.user, keys=[key])
    return redirect(notifications.line_of(row)["url"])
