"""What the queue pages show."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.documents.models import Collection
from workbench.questions import cards
from workbench.questions.models import Candidate, Run
from workbench.questions.presenters import answer_of
from workbench.questions.records import anchor_of
from workbench.questions.selectors import candidate_for

from .models import CarriedAnchor, CarriedState, ItemState, QueueItem, ReasonCode, Review, ReviewAction
from .selectors import queue_open

WHY = {
    "needs_person": gettext_lazy("the machine asks for a person"),
    "undecided": gettext_lazy("no usable verdict"),
    "injection_suspected": gettext_lazy("the text may instruct the model"),
    "not_found": gettext_lazy("nothing was found"),
    "primary": gettext_lazy("carries the answer"),
    "supporting": gettext_lazy("supports the answer"),
    "uncertain": gettext_lazy("the score is near the middle"),
    "disagreement": gettext_lazy("detectors disagree"),
    "random": gettext_lazy("random check"),
    "discarded": gettext_lazy("was discarded"),
    "tangential": gettext_lazy("is tangential"),
    "version_changed": gettext_lazy("the passage changed in a new version"),
    "version_gone": gettext_lazy("the passage is gone from a new version"),
}
PAGE_SIZE = 50


def queue_page(*, user: User, query: QueryDict) -> dict[str, Any]:
    """The list of what waits, most urgent first, filtered as the address says."""
    collections = list(Collection.objects.visible_to(user, Permission.REVIEW))
    chosen = next((c for c in collections if c.slug == query.get("collection")), None)
    scope = query.get("show", "required")
    items = queue_open(
        user=user, collection_id=chosen.pk if chosen else None, required_only=scope == "required"
    ).select_related("run__question", "collection", "candidate__verdict", "candidate__document", "claimed_by")
    if query.get("why"):
        items = items.filter(why__contains=[query["why"]])
    offset = int(query["after"]) if query.get("after", "").isdecimal() else 0
    rows = list(items[offset : offset + PAGE_SIZE + 1])
    return {
        "rows": [_row(item, user=user) for item in rows[:PAGE_SIZE]],
        "total": items.count(),
        "collection": chosen,
        "filters": _filters(collections=collections, query=query),
        "pager": {
            "shown": len(rows[:PAGE_SIZE]),
            "next_url": _with(query, after=str(offset + PAGE_SIZE)) if len(rows) > PAGE_SIZE else "",
            "first_url": _with(query, after="") if offset else "",
        },
    }


def _row(item: QueueItem, *, user: User) -> dict[str, Any]:
    candidate = item.candidate
    verdict = getattr(candidate, "verdict", None) if candidate else None
    is_held = item.claimed_until is not None and item.claimed_until > timezone.now()
    return {
        "item": item,
        "question": item.run.question.text,
        "collection": item.collection,
        "candidate": candidate,
        "scope": anchor_of(candidate) if candidate else None,
        "breadcrumb": candidate.breadcrumb.split(" › ")[-1] if candidate else "",
        "role": verdict.role if verdict else None,
        "reason": verdict.reason if verdict else item.run.not_found_reason,
        "probability": verdict.probability if verdict else None,
        "why": [str(WHY.get(code, code)) for code in item.why],
        "claimed_by": item.claimed_by if is_held else None,
        "is_mine": is_held and item.claimed_by_id == user.pk,
        "url": reverse("review:item", args=[item.pk]),
    }


def _filters(*, collections: list[Collection], query: QueryDict) -> dict[str, Any]:
    return {
        "url": reverse("review:queue"),
        "fields": [
            {
                "name": "collection",
                "label": _("Collection"),
                "kind": "select",
                "value": query.get("collection", ""),
                "options": [("", _("All")), *((c.slug, c.name) for c in collections)],
            },
            {
                "name": "show",
                "label": _("Show"),
                "kind": "select",
                "value": query.get("show", "required"),
                "options": [("required", _("What must be decided")), ("all", _("Everything"))],
            },
            {
                "name": "why",
                "label": _("Why it waits"),
                "kind": "select",
                "value": query.get("why", ""),
                "options": [("", _("Any reason")), *((code, str(label)) for code, label in WHY.items())],
            },
        ],
        "active": [],
    }


def _with(query: QueryDict, **changes: str) -> str:
    copy = query.copy()
    for name, value in changes.items():
        if value:
            copy[name] = value
        else:
            copy.pop(name, None)
    return f"{reverse('review:queue')}?{copy.urlencode()}"


def item_page(*, item: QueueItem, user: User, query: QueryDict) -> dict[str, Any]:
    """One item: its question, its card or the not-found, and where it stands in the queue."""
    chosen = query.get("collection", "")
    is_held = item.claimed_until is not None and item.claimed_until > timezone.now()
    context: dict[str, Any] = {
        "item": item,
        "item_id": item.pk,
        "run": item.run,
        "collection": item.collection,
        "chosen": chosen,
        "is_waiting": item.state == ItemState.WAITING,
        "is_mine": is_held and item.claimed_by_id == user.pk,
        "held_by": item.claimed_by if is_held and item.claimed_by_id != user.pk else None,
        "why": [str(WHY.get(code, code)) for code in item.why],
        "remaining": queue_open(user=user, required_only=True).count(),
        "reason_choices": ReasonCode.choices,
        "may_review": cards.may_decide(run=item.run, user=user),
        "next_url": reverse("review:next") + (f"?collection={chosen}" if chosen else ""),
        "crumbs": [
            {"label": _("Queue"), "url": reverse("review:queue")},
            {"label": _("Item %(pk)d") % {"pk": item.pk}},
        ],
    }
    if item.candidate_id is None:
        return context | answer_of(run=item.run)
    candidate = candidate_for(user=user, pk=item.candidate_id)
    return context | cards.single_card(candidate=candidate, user=user) | {"reopened": _reopened(candidate)}


def _reopened(candidate: Candidate) -> list[dict[str, Any]]:
    """What a new version of the document did to a decided passage, newest version first."""
    # Here, not above: the page of versions stands on the review models and on this app's cards.
    from workbench.documents.version_page import anchor_row

    rows = CarriedAnchor.objects.filter(candidate=candidate).exclude(state=CarriedState.CARRIED)
    related = ("review__reviewer", "candidate__run__question", "candidate__document", "candidate__text")
    return [anchor_row(row) for row in rows.select_related(*related).order_by("-id")]


def said_of_decision(*, decision: dict[str, Any] | None, tally: dict[str, int]) -> str:
    """What is read out after a decision on the run page."""
    done = str(ReviewAction(decision["action"]).label).capitalize() if decision else ""
    left = ngettext("%(n)d left to decide.", "%(n)d left to decide.", tally["open"]) % {"n": tally["open"]}
    return f"{done}. {left}"


def decided_message(*, candidate: Candidate | None = None, run: Run | None = None) -> SafeString:
    """What the next page says of the decision just made, with a way back to it."""
    if candidate is not None:
        review = Review.objects.filter(candidate=candidate).order_by("-id").first()
        address = f"{candidate.run.get_absolute_url()}#{cards.dom_id(candidate)}"
        place = candidate.candidate_id
    else:
        review = Review.objects.filter(run=run, candidate__isnull=True).order_by("-id").first()
        address, place = run.get_absolute_url() if run else "", _("not found")
    done = str(review.get_action_display()).capitalize() if review else ""
    return format_html('{}: <a href="{}">{}</a>', done, address, place)
