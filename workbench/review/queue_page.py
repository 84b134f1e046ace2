"""The data of the queue list, bulk approval and assignments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.documents.models import Collection
from workbench.infra.addresses import number_in
from workbench.infra.choices import options_of
from workbench.infra.crumbs import crumbs
from workbench.runs.models import RoleChoice
from workbench.runs.places import lines_short
from workbench.runs.records import anchor_of
from workbench.runs.words import METHOD_LABELS

from . import cards
from .blindness import Sight
from .bulk import BulkPreview, bulk_preview, checks_of, drawn
from .filters import MINE, NOBODY, OTHERS, UNDECIDED, QueueFilter, queue_filtered
from .groups import Group, Progress, groups_page, progress_of, progress_words
from .models import BulkApproval, BulkState, ItemStage, QueueItem, QueueOrder
from .nearest import absence_words
from .presenters import WHY, why_words
from .saved_views import views_of
from .selectors import queue_held
from .waiting import number_told

#: Cards of a page, two screens: who wants the next one takes it, who looks for one filters. Groups stay whole.
PAGE_SIZE = 25
#: Questions of a page, and cards of each: the rest stands behind a link.
PAGE_GROUPS, GROUP_SHOWN = 10, 6
#: Cards of the one question that is asked for.
ALONE_SHOWN = 100
#: Nobody needs to know more exactly how much waits, and each more has to be looked at.
MOST_COUNTED = 1_000
_ROW = (
    "run__question__document",
    "collection",
    "candidate__verdict",
    "candidate__document",
    "claimed_by",
    "assigned_to",
)
#: What a row shows. A run and a candidate carry a score of JSON columns, which cost more to read than the page.
_SHOWN = (
    *(field.attname for field in QueueItem._meta.concrete_fields),
    *("collection__slug", "collection__name"),
    *("run__status", "run__review_state", "run__collection_id", "run__not_found_reason"),
    "run__question__text",
    *("run__question__document__name", "run__question__document__title"),
    *(f"candidate__{name}" for name in ("candidate_id", "section_id", "breadcrumb")),
    *(f"candidate__anchor_{name}" for name in ("page_start", "line_start", "page_end", "line_end")),
    *("candidate__document__name", "candidate__document__title"),
    *(f"candidate__verdict__{name}" for name in ("role", "reason", "probability")),
    *("claimed_by__name", "claimed_by__email", "assigned_to__name", "assigned_to__email"),
)


def queue_page(*, user: User, query: QueryDict) -> dict[str, Any]:
    """The queue list, question by question, filtered and sorted by the address."""
    filters = QueueFilter.of(query.dict())
    collections = list(Collection.objects.visible_to(user, Permission.REVIEW))
    if filters.collection not in {c.slug for c in collections} and number_in(filters.collection) is None:
        filters = QueueFilter.of({**query.dict(), "collection": ""})
    chosen = next((c for c in collections if filters.collection in {c.slug, str(c.pk)}), None)
    items = queue_filtered(user=user, filters=filters)
    after = number_in(query.get("after"))
    most = ALONE_SHOWN if filters.run else GROUP_SHOWN
    found, place = groups_page(
        items,
        order=filters.order,
        after=after,
        most_groups=PAGE_GROUPS,
        most_cards=max(PAGE_SIZE, most),
        shown=most,
    )
    groups = _groups(found, user=user, filters=filters, most=most)
    count = items.order_by()[: MOST_COUNTED + 1].count()
    address = reverse("review:queue")
    return {
        "groups": groups,
        "rows": [row for group in groups for row in group["rows"]],
        "total": min(count, MOST_COUNTED),
        "is_more": count > MOST_COUNTED,
        "most_told": number_told(MOST_COUNTED),
        "order": filters.order,
        "collection": chosen,
        "filters": _filters(filters, collections=collections, chosen=chosen),
        "query": filters.query,
        "one_run": filters.run,
        "all_url": f"{address}?{replace(filters, run='').query}" if filters.run else "",
        "next_url": reverse("review:next") + filters.suffix,
        "bulk_url": f"{reverse('review:bulk')}?{filters.query}",
        "views": list(views_of(user=user)),
        "pager": {
            "shown": sum(len(group["rows"]) for group in groups),
            "next_url": f"{address}?{_with(filters, place)}" if place is not None else "",
            "first_url": f"{address}?{filters.query}" if after is not None else "",
        },
    }


def _groups(found: list[Group], *, user: User, filters: QueueFilter, most: int) -> list[dict[str, Any]]:
    """Each question with its first cards, its progress, and the actions on all of them."""
    items = rows_of([key for group in found for key in group.keys[:most]])
    rows: dict[int, list[dict[str, Any]]] = {}
    for item, row in zip(items, item_rows(items, user=user), strict=True):
        rows.setdefault(item.run_id, []).append(row)
    progress = progress_of(group.run_id for group in found)
    return [
        {
            "run_id": group.run_id,
            "run_url": reverse("questions:run", args=[group.run_id]),
            "first": rows[group.run_id][0],
            "rows": rows[group.run_id],
            "count": len(group.keys),
            "rest": max(0, len(group.keys) - most),
            "rest_url": f"{reverse('review:queue')}?{replace(filters, run=str(group.run_id)).query}",
            "progress": progress_words(progress.get(group.run_id, Progress())),
            "may_take": any(row["may_take"] for row in rows[group.run_id]),
            "is_mine": any(row["is_mine"] for row in rows[group.run_id]),
            "take_url": reverse("review:claim-run", args=[group.run_id]) + filters.suffix,
            "release_url": reverse("review:release-run", args=[group.run_id]) + filters.suffix,
        }
        for group in found
        if group.run_id in rows
    ]


def rows_of(keys: Sequence[int]) -> list[QueueItem]:
    """Items with the data of their rows, in the order of their keys. They are read after the keys are chosen: the
    database chooses from an index with only order and filters, and joins the rest for a single page."""
    items = QueueItem.objects.filter(pk__in=keys).select_related(*_ROW).only(*_SHOWN).in_bulk()
    return [items[key] for key in keys if key in items]


def _with(filters: QueueFilter, after: int) -> str:
    return "&".join(filter(None, (filters.query, f"after={after}")))


def item_rows(items: Iterable[QueueItem], *, user: User) -> list[dict[str, Any]]:
    sight = Sight(user)
    return [item_row(item, user=user, sight=sight) for item in items]


def item_row(item: QueueItem, *, user: User, sight: Sight) -> dict[str, Any]:
    """A row, without the machine's role while it is hidden."""
    candidate = item.candidate
    hidden = sight.hides(item=item, run=item.run)
    verdict = getattr(candidate, "verdict", None) if candidate and not hidden else None
    is_held = item.claimed_until is not None and item.claimed_until > timezone.now()
    reason = verdict.reason if verdict else "" if candidate else absence_words(item.run.not_found_reason)
    document = candidate.document if candidate else item.run.question.document
    section = candidate.breadcrumb.split(" › ")[-1] if candidate else ""
    return {
        "item": item,
        "question": item.run.question.text,
        "scope": item.run.question.document,
        "collection": item.collection,
        "candidate": candidate,
        "document": document,
        "where": f"{document} › {section}" if section else document,
        "place": lines_short(anchor_of(candidate)) if candidate else "",
        "role": verdict.role if verdict else None,
        "reason": reason,
        "is_hidden": hidden,
        "stage": item.get_stage_display() if item.stage != ItemStage.FIRST else "",
        "probability": verdict.probability if verdict else None,
        "why": ", ".join(why_words(item, is_hidden=hidden)),
        "claimed_by": item.claimed_by if is_held else None,
        "is_mine": is_held and item.claimed_by_id == user.pk,
        "may_take": not is_held and item.assigned_to_id in {None, user.pk},
        "assigned_to": item.assigned_to,
        "is_for_me": item.assigned_to_id == user.pk,
        "until": item.claimed_until if is_held else None,
        "url": reverse("review:item", args=[item.pk]),
        "claim_url": reverse("review:claim", args=[item.pk]),
    }


def _select(name: str, label: str, value: str, options: list[tuple[str, str]]) -> dict[str, Any]:
    return {"name": name, "label": label, "kind": "select", "value": value, "options": options}


def _filters(
    filters: QueueFilter, *, collections: list[Collection], chosen: Collection | None
) -> dict[str, Any]:
    slug = chosen.slug if chosen else filters.collection
    slugs = [("", _("All")), *((c.slug, c.name) for c in collections)]
    shows = [("required", _("What must be decided")), ("all", _("Everything"))]
    whys = [("", _("Any reason")), *((code, str(label)) for code, label in WHY.items())]
    more = _more_filters(filters)
    return {
        "url": reverse("review:queue"),
        "clear_url": reverse("review:queue") if filters.query else "",
        "fields": [
            _select("collection", _("Collection"), slug, slugs),
            _select("show", _("Show"), filters.show, shows),
            _select("why", _("Why it waits"), filters.why, whys),
            {"name": "document", "label": _("Document"), "kind": "text", "value": filters.document},
            _select("order", _("Sort by"), filters.order, options_of(QueueOrder)),
        ],
        "more": more,
        "more_is_open": any(field["value"] for field in more),
        "active": [],
    }


def _more_filters(filters: QueueFilter) -> list[dict[str, Any]]:
    """Rarely used filters."""
    fields = {
        "role": (_("Machine's role"), [*options_of(RoleChoice), (UNDECIDED, _("Undecided"))]),
        "detector": (_("Detector"), [(name, str(label)) for name, label in METHOD_LABELS.items()]),
        "decided_by": (_("Decided by"), _deciders()),
        "assignee": (
            _("Who has it"),
            [(MINE, _("Me")), (NOBODY, _("Nobody")), (OTHERS, _("Somebody else"))],
        ),
        "stage": (_("Stage"), options_of(ItemStage)),
        "age": (
            _("Waits for"),
            [("1", _("A day or more")), ("7", _("A week or more")), ("30", _("A month or more"))],
        ),
    }
    return [
        _select(name, label, getattr(filters, name), [("", _("Any")), *options])
        for name, (label, options) in fields.items()
    ]


def _deciders() -> list[tuple[str, str]]:
    return [
        ("rule", _("A rule")),
        ("gate", _("The gate")),
        ("mlp", _("The reranker")),
        ("llm", _("A language model")),
        ("fallback", _("A fallback")),
        ("undecided", _("Nobody")),
    ]


def bulk_page(*, user: User, filters: QueueFilter) -> dict[str, Any]:
    """The preview of a bulk approval, each card with its passage."""
    preview: BulkPreview = bulk_preview(actor=user, filters=filters)
    return {
        "rows": _with_passages(preview.items, user=user),
        "left_out": sorted(preview.left_out.items(), key=lambda pair: -pair[1]),
        "digest": preview.digest,
        "total": preview.total,
        "checked": len(drawn(preview.items)),
        "query": filters.query,
        "crumbs": crumbs((_("Queue"), f"{reverse('review:queue')}?{filters.query}"), here=_("Bulk approve")),
    }


def checks_page(*, user: User, bulk: BulkApproval) -> dict[str, Any]:
    """The sampled cards of a bulk approval, and what happens next."""
    checks = checks_of(bulk)
    rows = _with_passages(checks.items, user=user)
    waiting = {item.pk for item in checks.waiting}
    refused = {item.pk for item in checks.not_approved}
    for row in rows:
        row["url"] = check_address(bulk, row["item"].pk)
        row["is_waiting"], row["is_refused"] = row["item"].pk in waiting, row["item"].pk in refused
    return {
        "bulk": bulk,
        "rows": rows,
        "waiting": len(waiting),
        "refused": len(refused),
        "rest": len(bulk.items) - len(bulk.checks),
        "is_open": bulk.state == BulkState.CHECKING,
        "next_url": check_address(bulk, checks.waiting[0].pk) if waiting else "",
        "crumbs": crumbs(
            (_("Queue"), f"{reverse('review:queue')}?{bulk.query}"),
            (_("Bulk approve"), f"{reverse('review:bulk')}?{bulk.query}"),
            here=_("Random check"),
        ),
    }


def check_address(bulk: BulkApproval, item: int) -> str:
    """The address of a sampled card. Its decision leads to the next sampled card."""
    return f"{reverse('review:item', args=[item])}?bulk={bulk.pk}"


def _with_passages(items: list[QueueItem], *, user: User) -> list[dict[str, Any]]:
    rows = item_rows(items, user=user)
    for row in rows:
        text = getattr(row["candidate"], "text", None) if not row["is_hidden"] else None
        row["passage"] = cards.reflowed(text.anchor or text.snippet) if text else ""
    return rows


def claims_page(*, user: User) -> dict[str, Any]:
    """Claimed and assigned items, with who can release them."""
    items = queue_held(user=user).select_related(*_ROW)[:200]
    administered = list(Collection.objects.visible_to(user, Permission.MANAGE).order_by("name"))
    managed = {collection.pk for collection in administered}
    rows = item_rows(items, user=user)
    for row in rows:
        item = row["item"]
        row["may_release"] = item.collection_id in managed or user.pk in {
            item.claimed_by_id,
            item.assigned_to_id,
        }
    return {
        "rows": rows,
        "policies": [
            {"collection": collection, "url": reverse("review:policy", args=[collection.slug])}
            for collection in administered
        ],
        "crumbs": crumbs((_("Queue"), reverse("review:queue")), here=_("Assignments")),
    }
