"""A third person decides where two judged one pair differently, or where nobody could tell. Asking for fewer labels
never resolves a dispute."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.query import QuerySet
from django.utils.translation import gettext as _

from arbitration.contracts import Role
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.runs.models import require_role

from .models import TO_ADJUDICATE, Adjudication, Outcome, Pair, PairState, Slot, SlotState, SourceChoice
from .work import label_of_pair


def disputes(*, user: User) -> QuerySet[Pair]:
    """Disputed and unclear pairs this person may decide, none of their own.

    Where one said evidence and the other not (``in_favour`` and ``against``) comes first: such a pair trains nothing
    until it is decided.
    """
    own = Slot.objects.filter(pair=OuterRef("pk"), person=user, is_check=False)
    labelled = Slot.objects.filter(pair=OuterRef("pk"), is_check=False, state=SlotState.LABELLED)
    waiting = Pair.objects.visible_to(user, Permission.REVIEW).filter(state__in=TO_ADJUDICATE)
    pairs = waiting.exclude(Exists(own))
    return pairs.annotate(
        in_favour=Exists(labelled.filter(label__binary_label=1)),
        against=Exists(labelled.filter(label__binary_label=0)),
    ).order_by("-against", "-in_favour", "id")


def judgments_of(pair: Pair) -> list[Slot]:
    """The judgments (two of a disputed pair, one or none of an unclear one) in an order that says nothing about who
    gave them."""
    places = pair.slots.filter(is_check=False, state=SlotState.LABELLED).select_related("label")
    ordered = sorted(places, key=lambda place: place.pk)
    return ordered if pair.shuffle < 0.5 else ordered[::-1]


def pair_adjudicate(*, actor: User, pair: Pair, role: str, comment: str = "") -> Adjudication:
    """The third person's role: one of the two given, or another when both are wrong. It outranks every other label.

    Raises :class:`NotAllowed` for those who may not review, or who labelled the pair themselves; :class:`Conflict`
    when it is not disputed (any more).
    """
    require_role(role)
    with transaction.atomic():
        locked = _to_decide(actor=actor, pair=pair)
        given = [place.role for place in judgments_of(locked)]
        label = label_of_pair(pair=locked, role=Role(role), source=SourceChoice.ADJUDICATED, person=actor)
        label.comment = comment.strip()
        label.save(force_insert=True)
        adjudication = Adjudication.objects.create(pair=locked, label=label, outcome=outcome(given, role))
        # From now on the answer is known: others may be shown the pair as a check.
        Pair.objects.filter(pk=locked.pk).update(state=PairState.SETTLED, gold_role=role)
        audit_record(
            actor=actor,
            action=Action.LABEL_ADJUDICATED,
            obj=label,
            collection_id=locked.collection_id,
            before={"roles": given},
            after={"role": role, "outcome": adjudication.outcome, "pair": locked.pk},
            reason=label.comment[:300],
        )
    return adjudication


def pair_set_aside(*, actor: User, pair: Pair, comment: str) -> None:
    """Ends a pair without a label: it cannot be told, and the comment says why. It trains nothing and is not given
    out again; labels that it has stay on record. Raises as :func:`pair_adjudicate`."""
    comment = comment.strip()
    if not comment:
        raise WorkbenchError(_("Say why nobody can tell. It goes on record."), code="reason_missing")
    with transaction.atomic():
        locked = _to_decide(actor=actor, pair=pair)
        Pair.objects.filter(pk=locked.pk).update(state=PairState.SET_ASIDE)
        audit_record(
            actor=actor,
            action=Action.LABELING_PAIR_SET_ASIDE,
            obj=locked,
            before={"state": locked.state},
            after={"state": PairState.SET_ASIDE},
            reason=comment[:300],
        )


def _to_decide(*, actor: User, pair: Pair) -> Pair:
    """The pair, locked, if this person may decide it now."""
    locked = Pair.objects.select_for_update(of=("self",)).select_related("collection").get(pk=pair.pk)
    if not has_permission(actor, locked.collection, Permission.REVIEW):
        raise NotAllowed(_("Only reviewers of this collection adjudicate."))
    if locked.slots.filter(person=actor, is_check=False).exists():
        raise NotAllowed(_("You labelled this pair yourself; somebody else must decide."))
    if locked.state not in TO_ADJUDICATE:
        raise Conflict(_("Nobody disagrees about this pair."), code="not_disputed")
    return locked


def outcome(given: list[str | None], role: str) -> Outcome:
    """Which of the judgments a role confirms, in their order; both wrong when none; alone without two of them."""
    if len(given) < 2:
        return Outcome.ALONE
    if role not in given:
        return Outcome.BOTH_WRONG
    return Outcome.FIRST if given[0] == role else Outcome.SECOND
