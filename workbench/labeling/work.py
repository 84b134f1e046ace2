"""An annotator at work: taking a pair, judging it, passing it over, taking the last word back.

A pair is given to one person, or to two where it is double-coded; the database holds that (``models.Slot``). Which pair
comes next is drawn per person: mostly the most uncertain, always with a fixed random share and some known answers.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from arbitration.contracts import Role
from workbench.accounts.models import Membership, User
from workbench.accounts.permissions import Permission, has_permission, roles_with
from workbench.audit.actions import Action
from workbench.audit.locks import LockSpace, advisory_lock
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.runs.models import require_role

from .models import (
    GuidelineVersion,
    Label,
    Pair,
    PairState,
    Pass,
    PassKind,
    Project,
    Slot,
    SlotState,
    SourceChoice,
)
from .services import judgment, label_retract
from .supply import part

#: How long a pair stays with its annotator without a sign of life.
LEASE = timedelta(minutes=15)
#: Annotators who can't tell before the pair goes to an adjudicator; fewer where there are no more.
UNSURE_PEOPLE = 2


def slot_held(*, actor: User, project: Project) -> Slot | None:
    """The pair that is on this person's desk; None when there is none."""
    held = Slot.objects.visible_to(actor, Permission.LABEL).filter(
        pair__project=project, person=actor, state=SlotState.HELD
    )
    return held.select_related("pair__document", "pair__project", "pair__collection").order_by("id").first()


def slot_claim_next(*, actor: User, project: Project) -> Slot | None:
    """The next pair for this person, theirs for a while; None when nothing is left for them.

    One that is on their desk already comes again, so that a reload loses nothing. Raises :class:`NotAllowed` without
    the right to label, :class:`Conflict` when the project is closed.
    """
    with transaction.atomic():
        _require_label_right(actor=actor, project=project)
        advisory_lock(LockSpace.LABELING_DESK, actor.pk)
        slot = slot_held(actor=actor, project=project)
        if slot is None:
            slot = _next_slot(actor=actor, project=project)
        if slot is None:
            return None
        Slot.objects.filter(pk=slot.pk).update(held_until=Now() + LEASE)
    return slot_held(actor=actor, project=project)


def slot_answer(*, actor: User, slot: Slot, role: str) -> Slot:
    """The person's judgment, given without sight of the machine's.

    A known answer is compared and leaves no label. The same answer twice (a repeated request) counts once. Raises
    :class:`WorkbenchError` for an unknown role, :class:`Conflict` when the pair went to somebody else meanwhile.
    """
    require_role(role)
    with transaction.atomic():
        locked = _own_slot(actor=actor, slot=slot)
        if locked.state == SlotState.LABELLED:
            if locked.role == role:
                return locked
            raise Conflict(_("You have labelled this pair already. Take it back with Undo first."))
        locked.label = None if locked.is_check else _label(actor=actor, slot=locked, role=role)
        locked.state, locked.role, locked.decided_at = SlotState.LABELLED, role, timezone.now()
        locked.held_until = None
        locked.save(update_fields=["label", "state", "role", "decided_at", "held_until"])
        Pass.objects.filter(pair=locked.pair, person=actor).delete()
        _pair_settle(locked.pair)
    return locked


def slot_pass(*, actor: User, slot: Slot, kind: str) -> None:
    """The person passes the pair over: it goes back for others, and comes back to them last or never.

    A pair that two people, or all there are, can't tell goes to an adjudicator instead of waiting for ever.
    """
    if kind not in PassKind.values:
        raise WorkbenchError(_("Choose “can't tell” or “later”."), code="pass_unknown")
    with transaction.atomic():
        locked = _own_slot(actor=actor, slot=slot)
        if locked.state == SlotState.LABELLED:
            raise Conflict(_("You have labelled this pair already. Take it back with Undo first."))
        Pass.objects.filter(pair=locked.pair, person=actor).delete()
        Pass.objects.create(pair=locked.pair, person=actor, kind=kind)
        _give_back(locked)
        _pair_settle(locked.pair)


def slot_release(*, actor: User, slot: Slot) -> None:
    """Clears the desk: the pair waits again, for this person too."""
    with transaction.atomic():
        locked = _own_slot(actor=actor, slot=slot)
        if locked.state == SlotState.HELD:
            _give_back(locked)


def undo_last(*, actor: User, project: Project) -> Slot:
    """Takes back this person's last act in the project, and lays its pair on their desk again.

    Raises :class:`NotAllowed` without the right to label; :class:`Conflict` when there is nothing to take back, when
    the pair was adjudicated since or its document is closed to them, or when somebody else has the passed-over pair
    now.
    """
    with transaction.atomic():
        _require_label_right(actor=actor, project=project)
        advisory_lock(LockSpace.LABELING_DESK, actor.pk)
        labelled = Slot.objects.filter(pair__project=project, person=actor, state=SlotState.LABELLED)
        last = labelled.select_related("pair", "label").order_by("-decided_at", "-id").first()
        passed = Pass.objects.filter(pair__project=project, person=actor).order_by("-id").first()
        if last is None and passed is None:
            raise Conflict(_("There is nothing to take back here."), code="nothing_to_undo")
        desk = slot_held(actor=actor, project=project)
        if passed and (last is None or last.decided_at is None or passed.created_at > last.decided_at):
            taken = _undo_pass(passed, actor=actor)
        else:
            assert last is not None
            taken = _undo_label(last, actor=actor)
        if desk is not None and desk.pk != taken.pk:
            _give_back(desk)
    return taken


def guideline_current(*, collection_id: int) -> GuidelineVersion | None:
    return GuidelineVersion.objects.filter(collection_id=collection_id).order_by("-number").first()


# --- what comes next --------------------------------------------------------------------------------


def draw(*, project_id: int, person_id: int, number: int) -> float:
    """A number in [0, 1), the same for the same person at the same place of their work."""
    return part(f"draw:{project_id}:{person_id}:{number}")


def _next_slot(*, actor: User, project: Project) -> Slot | None:
    done = Slot.objects.filter(pair__project=project, person=actor, state=SlotState.LABELLED).count()
    place = draw(project_id=project.pk, person_id=actor.pk, number=done)
    if place < project.gold_share:
        check = _take_check(actor=actor, project=project)
        if check is not None:
            return check
    at_random = place < project.gold_share + project.random_share
    order = ("pair__shuffle", "id") if at_random else ("-pair__priority", "id")
    fresh = free_slots(actor=actor, project=project)
    passed = Pass.objects.filter(pair=OuterRef("pair"), person=actor)
    slot = fresh.exclude(Exists(passed)).order_by(*order).select_for_update(
        of=("self",), skip_locked=True
    ).first()  # fmt: skip
    if slot is None:
        later = passed.filter(kind=PassKind.LATER)
        slot = fresh.filter(Exists(later)).order_by(*order).select_for_update(
            of=("self",), skip_locked=True
        ).first()  # fmt: skip
    if slot is not None:
        _take(slot, actor=actor)
    return slot


def free_slots(*, actor: User, project: Project) -> QuerySet[Slot]:
    """Places that nobody holds, of pairs that this person has no place in."""
    own = Slot.objects.filter(pair=OuterRef("pair"), person=actor)
    free = Q(state=SlotState.WAITING) | Q(state=SlotState.HELD, held_until__lt=Now())
    return (
        Slot.objects.visible_to(actor, Permission.LABEL)
        .filter(
            free,
            pair__project=project,
            pair__state=PairState.OPEN,
            is_check=False,
        )
        .exclude(Exists(own))
    )


def _take_check(*, actor: User, project: Project) -> Slot | None:
    """A known answer that this person has not met, in a place of its own."""
    own = Slot.objects.filter(pair=OuterRef("pk"), person=actor)
    passed = Pass.objects.filter(pair=OuterRef("pk"), person=actor)
    known = Pair.objects.visible_to(actor, Permission.LABEL).filter(project=project, gold_role__isnull=False)
    known = known.exclude(Exists(own)).exclude(Exists(passed))
    # A pair that still waits for labels is given out as work, not as a check.
    known = known.exclude(Exists(Slot.objects.filter(pair=OuterRef("pk"), is_check=False).exclude(
        state=SlotState.LABELLED
    )))  # fmt: skip
    pair = known.order_by("shuffle", "id").first()
    if pair is None:
        return None
    slot = Slot(pair=pair, is_check=True)
    _take(slot, actor=actor)
    return slot


#: What changes of a place when it is taken, or given back.
_OCCUPATION = ("person", "state", "held_until", "opened_at", "role", "label", "decided_at")


def _take(slot: Slot, *, actor: User) -> None:
    slot.person, slot.state = actor, SlotState.HELD
    slot.held_until, slot.opened_at = timezone.now() + LEASE, timezone.now()
    slot.role = slot.label = slot.decided_at = None
    slot.save(update_fields=_OCCUPATION if slot.pk else None)


def _give_back(slot: Slot) -> None:
    if slot.is_check:
        slot.delete()
        return
    slot.person = slot.held_until = slot.opened_at = slot.role = slot.label = slot.decided_at = None
    slot.state = SlotState.WAITING
    slot.save(update_fields=_OCCUPATION)


# --- parts ------------------------------------------------------------------------------------------


def _require_label_right(*, actor: User, project: Project, pair: Pair | None = None) -> None:
    """Asked anew at each act: roles may have been taken since, and a document deleted or restricted to others."""
    if not has_permission(actor, project.collection, Permission.LABEL):
        raise NotAllowed(_("Only annotators of this collection label its pairs."))
    if not project.is_open:
        raise Conflict(_("This project is closed; its pairs are not labelled any more."), code="closed")
    if pair is not None and not Pair.objects.visible_to(actor, Permission.LABEL).filter(pk=pair.pk).exists():
        raise Conflict(
            _("The document of this pair was deleted, or is not open to you any more."),
            code="document_closed",
        )


def _own_slot(*, actor: User, slot: Slot) -> Slot:
    """The place, locked, if it is still this person's."""
    locked = Slot.objects.select_for_update(of=("self",)).select_related("pair__project__collection").filter(
        pk=slot.pk
    ).first()  # fmt: skip
    if locked is None or locked.person_id != actor.pk:
        raise Conflict(
            _("This pair is not on your desk any more: it was released, or its time ran out."),
            code="not_held",
        )
    _require_label_right(actor=actor, project=locked.pair.project, pair=locked.pair)
    return locked


def _label(*, actor: User, slot: Slot, role: str) -> Label:
    pair = slot.pair
    seconds = (timezone.now() - slot.opened_at).total_seconds() if slot.opened_at else None
    label = label_of_pair(pair=pair, role=Role(role), source=SourceChoice.ANNOTATOR, person=actor)
    label.seconds = max(0.0, round(seconds, 1)) if seconds is not None else None
    label.save(force_insert=True)
    audit_record(
        actor=actor,
        action=Action.LABEL_RECORDED,
        obj=label,
        collection_id=pair.collection_id,
        after={"pair": pair.pk, "role": role, "source": SourceChoice.ANNOTATOR},
    )
    return label


def label_of_pair(*, pair: Pair, role: Role, source: str, person: User) -> Label:
    """An unsaved label of a pair, given blind under the guidelines of now."""
    return Label(
        collection_id=pair.collection_id,
        question=pair.question,
        question_hash=pair.question_hash,
        document_id=pair.document_id,
        page_start=pair.page_start,
        line_start=pair.line_start,
        page_end=pair.page_end,
        line_end=pair.line_end,
        text_hash=pair.text_hash,
        candidate_id=pair.candidate_id,
        person=person,
        blind=True,
        guideline=guideline_current(collection_id=pair.collection_id),
        **judgment(role=role, source=source),
    )


def _pair_settle(pair: Pair) -> None:
    """Open while a place is to be filled, unclear when nobody left can fill it; disputed when the roles differ; else
    settled. What an adjudicator decided stays."""
    pair = Pair.objects.select_for_update(of=("self",)).get(pk=pair.pk)
    if hasattr(pair, "adjudication") or pair.state == PairState.SET_ASIDE:
        return
    places = list(pair.slots.filter(is_check=False))
    roles = {place.role for place in places if place.state == SlotState.LABELLED}
    if any(place.state != SlotState.LABELLED for place in places):
        state = PairState.UNCLEAR if _nobody_can_tell(pair, places) else PairState.OPEN
    else:
        state = PairState.DISPUTED if len(roles) > 1 else PairState.SETTLED
    if state != pair.state:
        Pair.objects.filter(pk=pair.pk).update(state=state)


def _nobody_can_tell(pair: Pair, places: list[Slot]) -> bool:
    """Whether enough people passed the pair as "can't tell", or all who label here and have no place in it."""
    unsure = set(pair.passes.filter(kind=PassKind.UNSURE).values_list("person_id", flat=True))
    if not unsure or any(place.state == SlotState.HELD for place in places):
        return False
    labelled = {place.person_id for place in places if place.state == SlotState.LABELLED}
    annotators = Membership.objects.filter(
        collection=pair.collection_id, role__in=roles_with(Permission.LABEL), user__is_active=True
    )
    others = annotators.exclude(user__in=unsure | labelled)
    return len(unsure) >= UNSURE_PEOPLE or not others.exists()


def _undo_label(slot: Slot, *, actor: User) -> Slot:
    _require_label_right(actor=actor, project=slot.pair.project, pair=slot.pair)
    if not slot.is_check and hasattr(slot.pair, "adjudication"):
        raise Conflict(_("This pair was adjudicated since; its labels stay as they are."), code="adjudicated")
    label = slot.label
    _take(slot, actor=actor)
    if label is not None:
        label_retract(label=label, by=actor, reason="undo")
    _pair_settle(slot.pair)
    return slot


def _undo_pass(passed: Pass, *, actor: User) -> Slot:
    pair = passed.pair
    _require_label_right(actor=actor, project=pair.project, pair=pair)
    if hasattr(pair, "adjudication") or pair.state == PairState.SET_ASIDE:
        raise Conflict(_("This pair was adjudicated since; its labels stay as they are."), code="adjudicated")
    passed.delete()
    _pair_settle(pair)  # with one "can't tell" less, an unclear pair is open again
    slot = (
        free_slots(actor=actor, project=pair.project)
        .filter(pair=pair)
        .select_for_update(of=("self",), skip_locked=True)
        .first()
    )
    if slot is None and pair.gold_role is None:
        raise Conflict(_("Somebody else has that pair now."), code="claimed")
    if slot is None:
        slot = Slot(pair=pair, is_check=True)
    _take(slot, actor=actor)
    return slot
