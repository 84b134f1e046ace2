"""The queue: its list, its items, claims, saved views, bulk approval and the shares of a collection."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.accounts.reauthentication import asks_again
from workbench.documents.selectors import collection_for
from workbench.errors import WorkbenchError
from workbench.infra.acts import told
from workbench.infra.addresses import number_in
from workbench.runs.models import Run
from workbench.runs.selectors import run_for

from . import bulk, passed, policy, presenters, queue, queue_page, saved_views
from .blindness import after_blind_decisions
from .filters import QueueFilter
from .forms import HandOverForm, PolicyForm, ViewForm
from .models import QueueItem
from .selectors import SEE_WHAT_IS_HELD
from .views import claim_next


@require_GET
def queue_list(request: HttpRequest) -> HttpResponse:
    """The items that need this person's decision, and why."""
    context = queue_page.queue_page(user=request.user, query=request.GET)
    return render(request, "review/queue.html", context)


@require_POST
def queue_next(request: HttpRequest) -> HttpResponse:
    query = request.GET.copy()
    if request.POST.get("collection"):
        query["collection"] = request.POST["collection"]
    address, _is_item = claim_next(request, query)
    return redirect(address)


@require_GET
@after_blind_decisions
def queue_item(request: HttpRequest, pk: int) -> HttpResponse:
    """One item: the card, its question, and the link to the next."""
    context = presenters.item_page(
        item=_item(request, pk), user=request.user, query=request.GET, passed=passed.passed_over(request)
    )
    return render(request, "review/item.html", context)


@require_POST
def queue_claim(request: HttpRequest, pk: int) -> HttpResponse:
    """Claims an item of the list, so that nobody else gets it in the meantime, or extends the claim."""
    item = _item(request, pk)
    if "left" in request.POST:
        return _go_back(request, item)
    with told(request):
        queue.queue_claim(actor=request.user, item=item)
    return redirect("review:item", pk=pk)


def _go_back(request: HttpRequest, item: QueueItem) -> HttpResponse:
    """Goes back to a skipped item; if somebody else has it by now, stays."""
    left = number_in(request.POST.get("left"))
    passed.forget_from(request, item.pk)
    opened: int | None = item.pk
    try:
        queue.queue_claim_back(actor=request.user, item=item, left=left)
    except WorkbenchError as error:
        messages.info(request, error.message)
        opened = left
    address = reverse("review:item", args=[opened]) if opened is not None else reverse("review:queue")
    filters = QueueFilter.of(request.GET.dict())
    return redirect(address + filters.suffix)


@require_POST
def queue_release(request: HttpRequest, pk: int) -> HttpResponse:
    """Releases an item; admins of the collection can release anybody's."""
    item = _item(request, pk, SEE_WHAT_IS_HELD)
    with told(request):
        queue.queue_release(actor=request.user, item=item)
    is_admins = request.POST.get("next") == reverse("review:claims")
    return redirect("review:claims" if is_admins else "review:queue")


@require_POST
def run_claim(request: HttpRequest, pk: int) -> HttpResponse:
    """Claims all matching cards of a question, and opens the first."""
    run, filters = _run(request, pk), QueueFilter.of(request.GET.dict())
    with told(request):
        taken = queue.queue_claim_run(actor=request.user, run=run, filters=filters)
        said = ngettext("%(n)d card is yours.", "%(n)d cards are yours.", len(taken)) % {"n": len(taken)}
        messages.success(request, said)
        return redirect(reverse("review:item", args=[taken[0].pk]) + filters.suffix)
    return redirect(reverse("review:queue") + filters.suffix)


@require_POST
def run_release(request: HttpRequest, pk: int) -> HttpResponse:
    run, filters = _run(request, pk), QueueFilter.of(request.GET.dict())
    count = queue.queue_release_run(actor=request.user, run=run)
    messages.success(request, ngettext("%(n)d card released.", "%(n)d cards released.", count) % {"n": count})
    return redirect(reverse("review:queue") + filters.suffix)


@require_http_methods(["GET", "POST"])
def queue_hand_over(request: HttpRequest, pk: int) -> HttpResponse:
    """GET shows the form, for htmx alone. POST assigns an item to another reviewer."""
    item = _item(request, pk, SEE_WHAT_IS_HELD)
    if request.method == "GET":
        context = presenters.hand_over_page(item=item, user=request.user)
        part = "#form" if request.htmx else ""
        return render(request, f"review/hand_over.html{part}", context)
    form = HandOverForm(request.POST)
    # The refusal names the person, and nobody is told the names of people elsewhere.
    members = User.objects.filter(memberships__collection=item.collection_id)
    person = members.filter(pk=form.cleaned_data["person"]).first() if form.is_valid() else None
    if person is None:
        messages.error(request, _("Choose a reviewer of the collection."))
        return redirect("review:item", pk=pk)
    with told(request):
        queue.queue_hand_over(actor=request.user, item=item, to=person, note=form.cleaned_data["note"])
        messages.success(request, _("Handed over to %(name)s.") % {"name": person})
        return redirect("review:queue")
    return redirect("review:item", pk=pk)


@require_GET
def claims(request: HttpRequest) -> HttpResponse:
    return render(request, "review/claims.html", queue_page.claims_page(user=request.user))


@require_http_methods(["GET", "POST"])
def bulk_approval(request: HttpRequest) -> HttpResponse:
    """GET previews the matching cards. POST starts the bulk approval of the ticked ones."""
    filters = QueueFilter.of(request.GET.dict())
    if request.method == "POST":
        ticked = {number_in(key) for key in request.POST.getlist("item")}
        with told(request):
            started = bulk.bulk_start(
                actor=request.user,
                filters=filters,
                digest=request.POST.get("digest", "")[:64],
                reason=request.POST.get("reason", "")[:2000],
                chosen=ticked - {None},
            )
            return redirect("review:bulk-checks", pk=started.pk)
    return render(request, "review/bulk.html", queue_page.bulk_page(user=request.user, filters=filters))


@require_http_methods(["GET", "POST"])
def bulk_checks(request: HttpRequest, pk: int) -> HttpResponse:
    """GET shows the sampled cards and what happens to the rest. POST approves the rest, or ends the bulk approval."""
    started = bulk.bulk_for(user=request.user, pk=pk)
    if request.method == "GET":
        context = queue_page.checks_page(user=request.user, bulk=started)
        return render(request, "review/bulk_checks.html", context)
    with told(request):
        outcome = bulk.bulk_finish(actor=request.user, bulk=started)
        count = outcome.approved
        messages.success(request, ngettext("%(n)d approved.", "%(n)d approved.", count) % {"n": count})
        for reason, number in outcome.refused.items():
            messages.warning(request, f"{number}: {reason}")
        return redirect(f"{reverse('review:queue')}?{started.query}")
    return redirect("review:bulk-checks", pk=pk)


@require_POST
def view_save(request: HttpRequest) -> HttpResponse:
    """Saves the filter of the list under a name. The same name again changes it."""
    form = ViewForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Give the view a name of at most 60 characters."))
        return redirect("review:queue")
    filters = QueueFilter.of(QueryDict(form.cleaned_data["query"]).dict())
    with told(request):
        view, _is_new = saved_views.view_save(
            user=request.user, name=form.cleaned_data["name"], filters=filters
        )
        return redirect(f"{reverse('review:queue')}?{view.query}")
    return redirect(f"{reverse('review:queue')}?{filters.query}")


@require_POST
def view_delete(request: HttpRequest, pk: int) -> HttpResponse:
    saved_views.view_delete(view=saved_views.view_for(user=request.user, pk=pk))
    return redirect("review:queue")


@require_http_methods(["GET", "POST"])
@asks_again
def policy_edit(request: HttpRequest, slug: str) -> HttpResponse:
    """The shares of a collection's verdicts that are decided blind and by two people."""
    collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
    form = PolicyForm(request.POST or None, instance=policy.policy_of(collection=collection))
    if request.method == "POST" and form.is_valid():
        policy.policy_set(actor=request.user, collection=collection, **form.cleaned_data)
        messages.success(request, _("This holds for questions asked from now on."))
        return redirect("review:policy", slug=slug)
    context = {"collection": collection, "form": form}
    return render(request, "review/policy.html", context, status=422 if form.errors else 200)


def _run(request: HttpRequest, pk: int) -> Run:
    return run_for(user=request.user, pk=pk, permission=Permission.REVIEW)


def _item(
    request: HttpRequest, pk: int, permissions: Sequence[Permission] = (Permission.REVIEW,)
) -> QueueItem:
    # Whose it is, is nearly always the person who asks: another's name is read where it is shown.
    return get_object_or_404(QueueItem.objects.visible_to(request.user, *permissions), pk=pk)
