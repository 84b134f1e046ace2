"""Writing labels. A label stands in the transaction of the act it comes from, or not at all."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from arbitration.contracts import Role
from training.labels import LabelSource
from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record, audit_work
from workbench.review.blindness import has_decided
from workbench.review.models import Adjudication, Review, ReviewAction, SecondReview
from workbench.runs.models import Candidate, Run, Verdict

from .models import Label, LabelRetraction, SourceChoice
from .passages import pair_fields, place_of

_SOURCE_OF_REVIEW = {
    ReviewAction.APPROVE: SourceChoice.APPROVE,
    ReviewAction.OVERRIDE: SourceChoice.OVERRIDE,
}
#: The kind of decider whose verdicts are labels. Gate, model, rule, fallback and baseline never are: the reranker
#: must not learn from itself.
_LLM = "llm"


def label_from_review(*, review: Review) -> Label | None:
    """The label of an approval or override; call it in the transaction that writes the review.

    A reviewer who withdraws a decision ("can't tell") takes their own labels of it back; a decision that follows
    another leaves the other's label on record, where the later one outranks it.
    """
    if review.action == ReviewAction.UNSURE:
        _retract_own(review)
    source = _SOURCE_OF_REVIEW.get(ReviewAction(review.action))
    if source is None or review.candidate is None or review.role is None:
        return None
    label = label_of_candidate(candidate=review.candidate, role=Role(review.role), source=source)
    label.person, label.review = review.reviewer, review
    label.blind, label.blind_chance = review.blind, review.blind_chance
    label.seconds, label.comment = review.seconds_on_card, review.comment
    label.save(force_insert=True)
    return label


def label_from_second_review(*, second: SecondReview) -> Label:
    """The label of a second review; call it in the transaction that writes it. It is blind unless the person had
    decided the card before."""
    label = label_of_candidate(
        candidate=second.candidate, role=Role(second.role), source=SourceChoice.ANNOTATOR
    )
    knew = has_decided(user=second.reviewer, candidate=second.candidate, besides=second)
    label.person, label.blind = second.reviewer, not knew
    label.seconds, label.comment = second.seconds_on_card, second.comment
    label.save(force_insert=True)
    return label


def label_from_adjudication(*, adjudication: Adjudication) -> Label:
    """The label of a third person's role; call it in the transaction that writes the adjudication."""
    review = adjudication.review
    label = label_of_candidate(
        candidate=review.candidate, role=Role(review.role), source=SourceChoice.ADJUDICATED
    )
    label.person, label.blind = adjudication.adjudicator, False
    label.save(force_insert=True)
    return label


def labels_of_review_retract(*, review: Review, by: User) -> None:
    """Takes back what a decision said, once it was undone."""
    for label in Label.objects.standing().filter(review=review):
        label_retract(label=label, by=by, reason="undone")


def labels_from_verdicts(*, run: Run, verdicts: Iterable[Verdict]) -> int:
    """Labels of low weight from what a language model itself decided; gives their number.

    Only verdicts decided by a model and not suspected of an injection: gate, reranker, rule, a fallback and failed
    calls say nothing. Call it in the transaction that writes the verdicts.
    """
    labels = [
        _label_of_verdict(verdict)
        for verdict in verdicts
        if verdict.decided_by_kind == _LLM and verdict.role and not verdict.injection_suspected
    ]
    if not labels:
        return 0
    Label.objects.bulk_create(labels)
    audit_work(
        action=Action.LABELS_RECORDED,
        obj=run,
        after={"labels": len(labels), "source": SourceChoice.LLM},
    )
    return len(labels)


def label_retract(*, label: Label, by: User, reason: str) -> LabelRetraction:
    """Takes a label back, once; it stays on record and trains nothing any more."""
    with transaction.atomic():
        retraction, created = LabelRetraction.objects.get_or_create(
            label=label, defaults={"retracted_by": by, "reason": reason}
        )
        if created:
            audit_record(
                actor=by,
                action=Action.LABEL_RETRACTED,
                obj=label,
                before={"role": label.role, "source": label.source},
                after=None,
                reason=reason,
            )
    return retraction


def label_of_candidate(*, candidate: Candidate, role: Role, source: str) -> Label:
    """An unsaved label of a candidate's anchor, still without its judge."""
    return Label(
        collection_id=candidate.run.collection_id,
        **pair_fields(question=candidate.run.question.text, place=place_of(candidate)),
        candidate=candidate,
        **judgment(role=role, source=source),
    )


def judgment(*, role: Role, source: str) -> dict[str, object]:
    """The columns that follow from role and source."""
    return {
        "role": role.value,
        "binary_label": role.binary_label,
        "source": source,
        "weight": LabelSource(source).weight,
    }


def _label_of_verdict(verdict: Verdict) -> Label:
    label = label_of_candidate(candidate=verdict.candidate, role=Role(verdict.role), source=SourceChoice.LLM)
    label.judge_name = f"{verdict.decided_by_name} · {verdict.decided_by_version}".rstrip(" ·")[:200]
    return label


def _retract_own(review: Review) -> None:
    """The reviewer's standing labels of the candidate; what others said of it stays said."""
    own = Label.objects.standing().filter(review__candidate=review.candidate, person=review.reviewer)
    for label in own:
        label_retract(label=label, by=review.reviewer, reason="withdrawn")
