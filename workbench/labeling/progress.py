"""How far a project is, for each person, and where a person was corrected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Avg, Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.documents.models import readable

from .models import Label, Pair, PairState, Pass, PassKind, Project, Slot, SlotState, SourceChoice
from .work import free_slots

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class OwnProgress:
    """A person's labels in a project, today's of them, and the pairs still open to them."""

    done: int
    today: int
    left: int


@dataclass(frozen=True, slots=True)
class PersonProgress:
    """What a person did in a project. ``agreed`` of ``checked`` known answers; seconds are a mean per label."""

    name: str
    done: int
    unsure: int
    seconds: float | None
    checked: int
    agreed: int


@dataclass(frozen=True, slots=True)
class Correction:
    """A pair that a person judged otherwise than who had the last word; ``by`` says what kind of word that was."""

    pair: Pair
    own_role: str
    final_role: str
    by: str
    comment: str
    at: datetime


def own_progress(*, user: User, project: Project) -> OwnProgress:
    """Two queries."""
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    counts = Slot.objects.filter(pair__project=project, person=user, state=SlotState.LABELLED).aggregate(
        done=Count("pk"), today=Count("pk", filter=Q(decided_at__gte=midnight))
    )
    unsure = Pass.objects.filter(pair=OuterRef("pair"), person=user, kind=PassKind.UNSURE)
    left = free_slots(actor=user, project=project).exclude(Exists(unsure)).values("pair").distinct().count()
    return OwnProgress(done=counts["done"], today=counts["today"], left=left)


def people_progress(*, project: Project) -> list[PersonProgress]:
    """Everybody who labelled in a project, by name. Two queries."""
    slots = (
        Slot.objects.filter(pair__project=project, state=SlotState.LABELLED)
        .order_by()
        .values("person", "person__name", "person__email")
        .annotate(
            done=Count("pk", filter=Q(is_check=False)),
            seconds=Avg("label__seconds"),
            checked=Count("pk", filter=Q(is_check=True)),
            agreed=Count("pk", filter=Q(is_check=True, role=F("pair__gold_role"))),
        )
    )
    passes = Pass.objects.filter(pair__project=project, kind=PassKind.UNSURE).order_by()
    unsure = dict(passes.values_list("person").annotate(number=Count("pk")))
    rows = [
        PersonProgress(
            name=row["person__name"] or row["person__email"],
            done=row["done"],
            unsure=unsure.get(row["person"], 0),
            seconds=row["seconds"],
            checked=row["checked"],
            agreed=row["agreed"],
        )
        for row in slots
    ]
    return sorted(rows, key=lambda row: row.name.casefold())


def pair_counts(*, project: Project) -> dict[str, int]:
    """Pairs of a project by state, with those of the holdout and those that two people get. One query. A pair of a
    deleted document waits for nobody."""
    second = Slot.objects.filter(pair=OuterRef("pk"), number=2)
    return (
        Pair.objects.filter(project=project)
        .annotate(is_double=Exists(second))
        .aggregate(
            total=Count("pk"),
            open=Count("pk", filter=Q(state=PairState.OPEN) & readable("document")),
            disputed=Count("pk", filter=Q(state=PairState.DISPUTED) & readable("document")),
            unclear=Count("pk", filter=Q(state=PairState.UNCLEAR) & readable("document")),
            set_aside=Count("pk", filter=Q(state=PairState.SET_ASIDE)),
            settled=Count("pk", filter=Q(state=PairState.SETTLED)),
            holdout=Count("pk", filter=Q(is_holdout=True)),
            double=Count("pk", filter=Q(is_double=True)),
            known=Count("pk", filter=Q(gold_role__isnull=False)),
        )
    )


def corrections(*, user: User, limit: int = 200) -> list[Correction]:
    """Where this person was corrected, the latest first: by an adjudicator, by a reviewer's decision on the same
    candidate, or by a known answer; in collections where they label now. Three queries."""
    slots = Slot.objects.visible_to(user, Permission.LABEL).filter(person=user, state=SlotState.LABELLED)
    slots = slots.select_related("pair__document")
    adjudicated = slots.filter(is_check=False, pair__adjudication__isnull=False).exclude(
        role=F("pair__adjudication__label__role")
    )
    checked = slots.filter(is_check=True).exclude(role=F("pair__gold_role"))
    found = [
        _correction(slot, slot.pair.adjudication.label, by="adjudicated")
        for slot in adjudicated.select_related("pair__adjudication__label").order_by("-decided_at")[:limit]
    ]
    found += [
        Correction(
            pair=slot.pair,
            own_role=slot.role,
            final_role=slot.pair.gold_role,
            by="known",
            comment="",
            at=slot.decided_at,
        )
        for slot in checked.order_by("-decided_at")[:limit]
    ]
    found += _by_reviewers(slots, limit=limit)
    return sorted(found, key=lambda row: row.at, reverse=True)[:limit]


def _by_reviewers(slots: QuerySet[Slot], *, limit: int) -> list[Correction]:
    rows = slots.filter(is_check=False, pair__adjudication__isnull=True, pair__candidate__isnull=False)
    by_candidate = {slot.pair.candidate_id: slot for slot in rows.order_by("-decided_at")[: 10 * limit]}
    decided = Label.objects.standing().filter(
        candidate__in=list(by_candidate), source__in=[SourceChoice.OVERRIDE, SourceChoice.APPROVE]
    )
    latest = {label.candidate_id: label for label in decided.order_by("created_at", "id")}
    return [
        _correction(by_candidate[candidate], label, by="reviewer")
        for candidate, label in latest.items()
        if candidate is not None and label.role != by_candidate[candidate].role
    ]


def _correction(slot: Slot, label: Label, *, by: str) -> Correction:
    return Correction(
        pair=slot.pair,
        own_role=str(slot.role),
        final_role=label.role,
        by=by,
        comment=label.comment,
        at=label.created_at,
    )


def pairs_waiting(*, user: User) -> int:
    """Pairs that this person could label now, in all open projects. One query."""
    own = Slot.objects.filter(pair=OuterRef("pair"), person=user).exclude(state=SlotState.HELD)
    unsure = Pass.objects.filter(pair=OuterRef("pair"), person=user, kind=PassKind.UNSURE)
    mine_or_free = Q(state=SlotState.WAITING) | Q(person=user) | Q(held_until__lt=Now())
    return (
        Slot.objects.visible_to(user, Permission.LABEL)
        .filter(
            mine_or_free,
            pair__project__is_open=True,
            pair__state=PairState.OPEN,
            is_check=False,
        )
        .exclude(state=SlotState.LABELLED)
        .exclude(Exists(own))
        .exclude(Exists(unsure))
        .values("pair")
        .distinct()
        .count()
    )
