"""What the queue pages show."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.documents.models import Collection
from workbench.questions import cards
from workbench.questions.selectors import candidate_for

from .models import QueueItem, QueueItemQuerySet, ReasonCode
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
        "rows": [_row(item) for item in rows[:PAGE_SIZE]],
        "total": items.count(),
        "collection": chosen,
        "filters": _filters(collections=collections, query=query),
        "pager": {
            "shown": len(rows[:PAGE_SIZE]),
            "next_url": _with(query, after=str(offset + PAGE_SIZE)) if len(rows) > PAGE_SIZE else "",
            "first_url": _with(query, after="") if offset else "",
        },
    }


def _row(item: QueueItem) -> dict[str, Any]:
    candidate = item.candidate
    verdict = getattr(candidate, "verdict", None) if candidate else None
    return {
        "item": item,
        "question": item.run.question.text,
        "collection": item.collection,
        "candidate": candidate,
        "role": verdict.role if verdict else None,
        "reason": verdict.reason if verdict else item.run.not_found_reason,
        "probability": verdict.probability if verdict else None,
        "why": [str(WHY.get(code, code)) for code in item.why],
        "claimed_by": item.claimed_by,
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


def item_page(*, item: QueueItem, user: User) -> dict[str, Any]:
    """One item: its question, its card or the not-found, and where it stands in the queue."""
    context: dict[str, Any] = {
        "item": item,
        "run": item.run,
        "collection": item.collection,
        "is_mine": item.claimed_by_id == user.pk,
        "why": [str(WHY.get(code, code)) for code in item.why],
        "remaining": waiting_for(user=user).filter(is_required=True).count(),
        "reason_choices": ReasonCode.choices,
        "may_review": cards.may_decide(run=item.run, user=user),
        "next_url": reverse("review:queue"),
        "crumbs": [
            {"label": _("Queue"), "url": reverse("review:queue")},
            {"label": _("Item %(pk)d") % {"pk": item.pk}},
        ],
    }
    if item.candidate_id is None:
        return context | {
            "not_found_review": cards.not_found_review(run=item.run),
            "answer": item.run.answers.last(),
        }
    candidate = candidate_for(user=user, pk=item.candidate_id)
    return context | cards.single_card(candidate=candidate, user=user)


def waiting_for(*, user: User) -> QueueItemQuerySet:
    """Everything that waits for this person."""
    return queue_open(user=user)
