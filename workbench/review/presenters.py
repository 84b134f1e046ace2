"""The data of the queue pages."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import Any

from django.db.models import OuterRef, Subquery
from django.db.models.functions import Coalesce, Now
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from workbench.accounts.models import User
from workbench.infra.addresses import number_in
from workbench.infra.crumbs import crumbs
from workbench.runs.models import Candidate, RoleChoice, Run
from workbench.runs.places import lines_short
from workbench.runs.records import anchor_of
from workbench.runs.restrictions import runs_open_to
from workbench.runs.selectors import run_for

from . import cards
from .blindness import hides, require_sight
from .bulk import bulk_for, checks_of
from .candidate_page import evidence_panel
from .candidates import candidate_for
from .enqueue import uncertainty
from .filters import OPEN_WHY, QueueFilter
from .groups import Progress, progress_of, progress_words
from .models import (
    AGE_DAYS,
    CarriedAnchor,
    CarriedState,
    ItemStage,
    ItemState,
    QueueItem,
    ReasonCode,
    Review,
    ReviewAction,
)
from .queue import reviewers_of
from .run_answer import answer_of
from .selectors import UNDO_WINDOW, queue_passed, standing_review, text_changes_of
from .version_page import anchor_row, anchors_seen
from .waiting import number_told, waiting_for

WHY = {
    "needs_person": gettext_lazy("the machine asks for review"),
    "undecided": gettext_lazy("no usable verdict"),
    "injection_suspected": gettext_lazy("possible prompt injection"),
    "not_found": gettext_lazy("nothing was found"),
    "primary": gettext_lazy("carries the answer"),
    "supporting": gettext_lazy("supports the answer"),
    "uncertain": gettext_lazy("the score is near the middle"),
    "disagreement": gettext_lazy("detectors disagree"),
    "random": gettext_lazy("random check"),
    "discarded": gettext_lazy("was discarded"),
    "tangential": gettext_lazy("is tangential"),
    "added": gettext_lazy("a person added it"),
    "blind": gettext_lazy("is decided blind"),
    "second": gettext_lazy("is decided by two people"),
    "disputed": gettext_lazy("two reviewers do not agree"),
    "version_changed": gettext_lazy("the passage changed in a new version"),
    "version_gone": gettext_lazy("the passage is gone from a new version"),
}


def item_page(*, item: QueueItem, user: User, query: QueryDict, passed: Sequence[int] = ()) -> dict[str, Any]:
    """The page of an item: its question, its card or not-found result, and its place in the queue. ``passed`` are the
    items that this person skipped, the latest last."""
    filters = QueueFilter.of(query.dict())
    behind = [key for key in passed if key != item.pk]
    back = queue_passed(user=user, keys=behind) if behind else None
    candidate = candidate_for(user=user, pk=item.candidate_id, as_card=True) if item.candidate_id else None
    item.candidate = candidate
    item.run = candidate.run if candidate else run_for(user=user, pk=item.run_id)
    item.collection = item.run.collection
    is_held = item.claimed_until is not None and item.claimed_until > timezone.now()
    is_hidden = hides(item=item, run=item.run, user=user)
    place, checked = _place(item), number_in(query.get("bulk"))
    context: dict[str, Any] = {
        "item": item,
        "item_id": item.pk,
        "run": item.run,
        "text_changes": text_changes_of(run=item.run),
        "sign_url": reverse("review:sign", args=[item.run_id]),
        "collection": item.collection,
        "is_waiting": item.state == ItemState.WAITING,
        "is_mine": is_held and item.claimed_by_id == user.pk,
        "held_by": item.claimed_by if is_held and item.claimed_by_id != user.pk else None,
        "why": why_words(item, is_hidden=is_hidden),
        "why_rows": why_rows(item, is_hidden=is_hidden),
        "stage": item.get_stage_display() if item.stage != ItemStage.FIRST else "",
        "assigned_to": item.assigned_to,
        "undo": last_decision(user=user, kept=filters.suffix),
        "remaining": number_told(waiting_for(user=user).to_review),
        "reason_choices": ReasonCode.choices,
        "may_review": cards.may_decide(run=item.run, user=user),
        "next_url": reverse("review:next") + filters.suffix if checked is None else checks_address(checked),
        "skip_url": reverse("review:next") + filters.suffix,
        "back_url": reverse("review:claim", args=[back]) + filters.suffix if back is not None else "",
        "crumbs": crumbs((_("Queue"), reverse("review:queue")), here=place),
        "place": place,
        "progress": progress_words(progress_of([item.run_id]).get(item.run_id, Progress())),
        "held": QueueItem.objects.filter(
            run=item.run_id, state=ItemState.WAITING, claimed_by=user, claimed_until__gt=Now()
        ).count(),
        "release_run_url": reverse("review:release-run", args=[item.run_id]) + filters.suffix,
    }
    if candidate is None:
        require_sight(user=user, runs=[item.run])
        return context | answer_of(run=item.run, reviewer=None)  # the page has its own undo
    extra = {
        "reopened": _reopened(candidate, user),
        "dispute": _dispute(candidate, item=item, user=user),
        # Loaded with the page, which saves a request for each card of the queue.
        "evidence_panel": evidence_panel(candidate=candidate, user=user),
    }
    return context | cards.single_card(candidate=candidate, user=user) | extra


def checks_address(key: int) -> str:
    """The address of the progress of a bulk approval. A decision with this address leads to the next card drawn."""
    return reverse("review:bulk-checks", args=[key])


def next_check(*, user: User, pk: int) -> str:
    """The next card to decide in a bulk approval. If none is left, the page that approves the rest."""
    waiting = checks_of(bulk_for(user=user, pk=pk)).waiting
    if not waiting:
        return checks_address(pk)
    return f"{reverse('review:item', args=[waiting[0].pk])}?bulk={pk}"


def _place(item: QueueItem) -> str:
    return lines_short(anchor_of(item.candidate)) if item.candidate else _("Not found")


def hand_over_page(*, item: QueueItem, user: User) -> dict[str, Any]:
    """The people an item can be assigned to, and the target of the form."""
    return {
        "item": item,
        "colleagues": reviewers_of(item=item).exclude(pk=user.pk),
        "crumbs": crumbs(
            (_("Queue"), reverse("review:queue")),
            (_place(item), reverse("review:item", args=[item.pk])),
            here=_("Hand over"),
        ),
    }


def why_words(item: QueueItem, *, is_hidden: bool) -> list[str]:
    """Why the item is in the queue, in words. For a hidden card, only reasons that reveal nothing."""
    codes = [code for code in item.why if code in OPEN_WHY or not is_hidden]
    return [str(WHY.get(code, code)) for code in codes]


def why_rows(item: QueueItem, *, is_hidden: bool) -> list[tuple[str, str]]:
    """The components of its priority."""
    days = max(0.0, (timezone.now() - item.created_at).total_seconds() / 86400)
    rows = [
        (_("Priority"), number_format(f"{item.priority:.2f}")),
        (_("Waits for"), ngettext("%(n)d day", "%(n)d days", int(days)) % {"n": int(days)}),
        (_("Weight of its age"), "× " + number_format(f"{exp(days / AGE_DAYS):.2f}")),
    ]
    candidate = item.candidate
    verdict = getattr(candidate, "verdict", None) if candidate else None
    if candidate is None or verdict is None or is_hidden:
        return rows
    found, ran = len(candidate.methods), len(item.run.methods_run)
    return [
        (_("Uncertainty of the score"), number_format(f"{uncertainty(verdict.probability):.2f}")),
        (_("Detectors that found it"), _("%(found)d of %(ran)d") % {"found": found, "ran": ran}),
        *rows,
    ]


def last_decision(*, user: User, kept: str = "") -> dict[str, str] | None:
    """The person's latest decision while it can be undone, from whichever card they are on now. ``back`` is its card in
    the queue, with the filter ``kept``."""
    recent = Review.objects.filter(
        runs_open_to(user, "run"), reviewer=user, created_at__gt=timezone.now() - UNDO_WINDOW
    ).order_by("-pk")
    not_found = QueueItem.objects.filter(run=OuterRef("run"), candidate__isnull=True).order_by()
    # Names only, because every card of the queue needs this.
    newest = recent.values(
        "action",
        "run_id",
        "candidate_id",
        *("adjudication", "second_review"),
        *(f"candidate__anchor_{name}" for name in ("page_start", "line_start", "page_end", "line_end")),
        item=Coalesce("candidate__queue_item", Subquery(not_found.values("pk"))),
    ).first()
    if newest is None or newest["action"] == ReviewAction.UNDO:
        return None
    if newest["adjudication"] or newest["second_review"]:
        return None
    back = reverse("review:item", args=[newest["item"]]) + kept if newest["item"] else ""
    if newest["candidate_id"] is None:
        address = reverse("review:not-found-undo", args=[newest["run_id"]])
        return {"label": _("not found"), "url": address, "back": back}
    scope = {name.removeprefix("candidate__anchor_"): value for name, value in newest.items()}
    address = reverse("review:undo", args=[newest["candidate_id"]])
    return {"label": lines_short(scope), "url": address, "back": back}


def _dispute(candidate: Candidate, *, item: QueueItem, user: User) -> dict[str, Any] | None:
    """Both decisions of a dispute, for people who can adjudicate it."""
    if item.stage != ItemStage.ADJUDICATION or item.state != ItemState.WAITING:
        return None
    second = candidate.second_reviews.select_related("reviewer", "review__reviewer").last()
    first = standing_review(candidate.reviews.select_related("reviewer"))
    if second is None or first is None:
        return None
    return {
        "words": [
            {"by": first.reviewer, "role": first.role, "comment": first.comment},
            {"by": second.reviewer, "role": second.role, "comment": second.comment},
        ],
        "url": reverse("review:adjudicate", args=[candidate.pk])
        if user.pk not in {item.first_reviewer_id, item.second_reviewer_id}
        else "",
        "roles": RoleChoice.choices,
    }


def _reopened(candidate: Candidate, user: User) -> list[dict[str, Any]]:
    """How new versions of the document changed a decided passage, newest version first."""
    rows = CarriedAnchor.objects.filter(candidate=candidate).exclude(state=CarriedState.CARRIED)
    if not (keys := list(rows.values_list("pk", flat=True))):  # nearly always true, and far cheaper to query
        return []
    return [anchor_row(row) for row in anchors_seen(user=user).filter(pk__in=keys).order_by("-id")]


def said_of_decision(*, decision: dict[str, Any] | None, tally: dict[str, int]) -> str:
    """The text for screen readers after a decision on the run page."""
    done = str(ReviewAction(decision["action"]).label).capitalize() if decision else ""
    left = ngettext("%(n)d left to decide.", "%(n)d left to decide.", tally["open"]) % {"n": tally["open"]}
    return f"{done}. {left}"


def decided_message(*, made: object, subject: Candidate | Run) -> SafeString:
    """The message about the decision just made about a candidate or a not-found result, with a way back to it. ``made``
    is the row that the service wrote; for a second review or an adjudication, the message is about its decision."""
    if isinstance(subject, Run):
        reviews, address = subject.reviews.filter(candidate__isnull=True), subject.get_absolute_url()
        place: str = _("not found")
    else:
        reviews, address = subject.reviews.all(), subject.get_absolute_url()
        place = lines_short(anchor_of(subject))
    review = made if isinstance(made, Review) else reviews.order_by("-id").first()
    done = str(review.get_action_display()).capitalize() if review else ""
    return format_html('{}: <a href="{}">{}</a>', done, address, place)
