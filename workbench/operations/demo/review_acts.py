"""What analysts and reviewers do in the demo's month."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from workbench.accounts.models import MemberRole
from workbench.collection_settings.selectors import criteria_weights_of
from workbench.collection_settings.services import collection_change
from workbench.errors import Conflict
from workbench.people.services import membership_revoke
from workbench.review.blindness import runs_withheld
from workbench.review.comments import comment_add
from workbench.review.evidence import evidence_add
from workbench.review.models import ItemStage, ItemState, QueueItem, ReasonCode
from workbench.review.queue import queue_claim, queue_hand_over
from workbench.review.record import record_digest, signed_record
from workbench.review.regeneration import answer_regenerate
from workbench.review.second import dispute_adjudicate, second_review_add
from workbench.review.services import (
    candidate_approve,
    candidate_choose,
    candidate_override,
    candidate_unsure,
    not_found_confirm,
)
from workbench.review.signing import run_sign
from workbench.runs.models import RoleChoice, Run

from .grader import MODEL
from .logins import demo_passwords
from .month_questions import CLAIMS_MONTH, DEMO_MONTH
from .scene import CLAIMS, DEMO, Scene, lot, question_of

_WEEKS = 4
#: Share of right verdicts that reviewers overrule all the same, week by week: what the drift page is to show.
_STRICT = (0.02, 0.05, 0.12, 0.2)
#: Of what needs no decision, the share that is looked at all the same.
_CHECKED = 0.35
_DECIDED = (0.95, 0.9, 0.85, 0.5)


def _of_week(questions: tuple[object, ...], week: int) -> list[object]:
    return [question for place, question in enumerate(questions) if place % _WEEKS == week]


def questions_of(week: int) -> Callable[[Scene], None]:
    """The questions of a week, in both collections."""

    def act(scene: Scene) -> None:
        for slug, questions in ((DEMO, DEMO_MONTH), (CLAIMS, CLAIMS_MONTH)):
            for question in _of_week(questions, week):
                scene.ask(question.text, slug=slug)
                scene.clock.forward(2700)

    return act


def decisions_of(week: int) -> Callable[[Scene], None]:
    """The reviewers' work of a week: most of what waits, each card for as long as it takes."""

    def act(scene: Scene) -> None:
        for slug, questions in ((DEMO, DEMO_MONTH), (CLAIMS, CLAIMS_MONTH)):
            texts = {question.text for question in _of_week(questions, week)}
            for run in scene.runs(slug):
                if run.question.text in texts:
                    _decide_run(scene, run, week)

    return act


def _decide_run(scene: Scene, run: Run, week: int) -> None:
    by = "reviewer" if lot("who", run.question.text) < 0.6 else "reviewer2"
    for item in scene.waiting(run):
        key = item.candidate.candidate_id if item.candidate else ""
        share = _DECIDED[week] * (1.0 if item.is_required else _CHECKED)
        if lot("left", run.question.text, key) < share:
            decide(scene, item, by=by, week=week)
    second = "reviewer2" if by == "reviewer" else "reviewer"
    for item in scene.waiting(run):
        if item.stage == ItemStage.SECOND and lot("second", item.pk) < _DECIDED[week]:
            _second(scene, item, by=second)


def decide(scene: Scene, item: QueueItem, *, by: str, week: int) -> None:
    """One card, as a careful person would: right verdicts are approved, but for a share that is seen more strictly."""
    reviewer = scene.person(by)
    if item.stage != ItemStage.FIRST:
        return
    claimed = queue_claim(actor=reviewer, item=item)
    candidate = claimed.candidate
    scene.clock.forward(2 + 90 * lot("time", item.pk) ** 2)
    if candidate is None:
        not_found_confirm(actor=reviewer, run=item.run, comment="I looked through the outline as well.")
        return
    candidate = item.candidate
    machine, truth = candidate.verdict.role, question_of(item.run).truth(candidate.text.anchor)
    is_evidence = machine in ("primary", "supporting")
    if machine in ("tangential", "discarded") and truth == "discarded":
        truth = machine
    if truth == "discarded" and is_evidence and lot("strict", item.pk) > 0.4 + _STRICT[week]:
        truth = machine  # let through: it belongs to the matter
    elif truth == machine and lot("strict", item.pk) < _STRICT[week]:
        truth = "supporting" if machine == "primary" else "tangential"
    if item.is_blind:
        candidate_choose(actor=reviewer, candidate=candidate, role=truth)
    elif machine == truth:
        candidate_approve(actor=reviewer, candidate=candidate)
    else:
        reason = ReasonCode.MISSED_CONTEXT if is_evidence else ReasonCode.WRONG_ROLE
        candidate_override(
            actor=reviewer,
            candidate=candidate,
            role=truth,
            reason_code=reason,
            comment="It speaks of another case." if is_evidence else "It states the answer.",
        )


def as_told(scene: Scene, item: QueueItem, *, by: str) -> None:
    """One card as the machine has it; what it leaves open is discarded."""
    reviewer = scene.person(by)
    if item.candidate is None:
        not_found_confirm(actor=reviewer, run=item.run, comment="")
    elif item.stage == ItemStage.SECOND:
        second_review_add(
            actor=reviewer, candidate=item.candidate, role=item.candidate.verdict.role or RoleChoice.DISCARDED
        )
    elif item.is_blind:
        candidate_choose(
            actor=reviewer, candidate=item.candidate, role=item.candidate.verdict.role or RoleChoice.DISCARDED
        )
    elif item.candidate.verdict.role is None:
        candidate_override(
            actor=reviewer, candidate=item.candidate, role="discarded", reason_code=ReasonCode.WRONG_ROLE
        )
    else:
        candidate_approve(actor=reviewer, candidate=item.candidate)


def _second(scene: Scene, item: QueueItem, *, by: str, role: str | None = None) -> None:
    item.refresh_from_db()
    role = role or question_of(item.run).truth(item.candidate.text.anchor)
    queue_claim(actor=scene.person(by), item=item)
    scene.clock.forward(5 + 60 * lot("second time", item.pk))
    second_review_add(actor=scene.person(by), candidate=item.candidate, role=role)


def model_asked(week: int, part: int) -> Callable[[Scene], None]:
    """A strategy that asks a model, in both collections: calls and costs on several days."""

    def act(scene: Scene) -> None:
        for slug, questions in ((DEMO, DEMO_MONTH), (CLAIMS, CLAIMS_MONTH)):
            _allow(scene, slug, [*scene.collection(slug).allowed_endpoints, scene.grader])
            try:
                for question in _of_week(questions, week)[part : part + 1]:
                    scene.ask(question.text, slug=slug, strategy="pointwise", use_cache=False)
                    scene.clock.forward(3600)
            finally:
                kept = [one for one in scene.collection(slug).allowed_endpoints if one != scene.grader]
                _allow(scene, slug, kept, asks=False)

    return act


def _allow(scene: Scene, slug: str, endpoints: list[str], *, asks: bool = True) -> None:
    """The collection lets its text go to these addresses, and asks the stand-in."""
    collection = scene.collection(slug)
    collection_change(
        actor=scene.person("admin"),
        collection=collection,
        default_strategy=collection.default_strategy,
        allowed_endpoints=endpoints,
        description=collection.description,
        criteria_weights=criteria_weights_of(collection=collection),
        contributes_to_training=collection.contributes_to_training,
        model_endpoint="demo-grader" if asks else "",
        model_name=MODEL if asks else "",
    )


def missed_passage(scene: Scene) -> None:
    """Lines that no detector found are added in both collections, and one answer is written again."""
    evidence_add(
        actor=scene.person("reviewer2"),
        run=_newest_in_sight(scene, CLAIMS, "reviewer2"),
        document=scene.document("complaints-procedure.md"),
        first=(1, 3),
        last=(1, 3),
        role="supporting",
        reason="Says since when the procedure applies.",
    )
    run = _newest_in_sight(scene, DEMO, "reviewer")
    evidence_add(
        actor=scene.person("reviewer"),
        run=run,
        document=scene.document("master-services-agreement.txt"),
        first=(1, 1),
        last=(1, 2),
        role="supporting",
        reason="Names the parties.",
    )
    with suppress(Conflict):  # a run of which nothing waits writes its answer by itself
        answer_regenerate(actor=scene.person("analyst"), run=run)


def _newest_in_sight(scene: Scene, slug: str, person: str) -> Run:
    """The newest run that hides nothing from somebody: who decides first adds no lines before."""
    hidden = set(runs_withheld(user=scene.person(person)).values_list("pk", flat=True))
    return next(run for run in reversed(scene.runs(slug)) if run.pk not in hidden)


def dispute(scene: Scene) -> None:
    """Two reviewers who disagree on two cards of claims; one is settled by a third, one is left."""
    disputed = 0
    for run in scene.runs(CLAIMS):
        for item in scene.waiting(run):
            if item.candidate is None or item.stage != ItemStage.SECOND or disputed == 2:
                continue
            first = item.first_reviewer.email.split("@")[0]
            given = item.candidate.reviews.latest("pk").role
            other = "reviewer2" if first == "reviewer" else "reviewer"
            _second(scene, item, by=other, role="supporting" if given != "supporting" else "primary")
            disputed += 1
    waiting = QueueItem.objects.filter(
        stage=ItemStage.ADJUDICATION, state=ItemState.WAITING, collection__slug=CLAIMS
    ).order_by("pk")
    if (item := waiting.first()) is not None and waiting.count() > 1:
        dispute_adjudicate(
            actor=scene.person("admin"),
            candidate=item.candidate,
            role="supporting",
            reason="It is needed to apply the rule, and does not state it.",
        )
    admin = scene.person("admin")  # who only stood in
    membership_revoke(
        actor=admin,
        user=admin,
        collection=scene.collection(CLAIMS),
        role=MemberRole.REVIEWER,
        reason="The dispute is settled.",
    )


def signature(scene: Scene) -> None:
    """A run with nothing left to decide is signed."""
    for run in scene.runs(DEMO):
        for item in scene.waiting(run):
            decide(scene, item, by="reviewer", week=0)
        if any(item.is_required for item in scene.waiting(run)):
            continue
        scene.clock.forward(60)
        fresh = Run.objects.get(pk=run.pk)
        password = demo_passwords(["reviewer@demo.example"])["reviewer@demo.example"]
        seen = record_digest(signed_record(fresh))
        run_sign(
            actor=scene.person("reviewer"), run=fresh, password=password, meaning="reviewed", seen_sha256=seen
        )
        return


def left_open(scene: Scene) -> None:
    """What the next day begins with: a card that somebody cannot tell, one handed over, a question to a colleague."""
    items = [item for run in scene.runs(DEMO) for item in scene.waiting(run) if item.candidate]
    items = [item for item in items if item.stage == ItemStage.FIRST and not item.is_blind]
    reviewer2 = scene.person("reviewer2")
    candidate_unsure(
        actor=reviewer2, candidate=items[0].candidate, comment="I cannot tell without the Work Order."
    )
    queue_hand_over(actor=scene.person("admin"), item=items[1], to=reviewer2, note="You know this contract.")
    run = items[1].run
    comment_add(actor=scene.person("analyst"), run=run, body="@reviewer2 can you look at this by Friday?")
    comment_add(actor=reviewer2, run=run, body="@analyst yes.", candidate=items[1].candidate)
