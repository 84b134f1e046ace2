"""Worlds that differ in nothing but what must be hidden from a second reviewer: the machine's roles and the first
reviewer's. Whatever that person asks must get the same answer in each of them.

A world is built by the product's own steps, with keys that begin at the same numbers, and taken back afterwards. What a
reason and a comment say is marked by words that stand nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connection, transaction

from arbitration.contracts import DecidedBy, Role
from arbitration.pool import CandidatePool
from arbitration.strategies.base import StrategyOutcome, StrategyServices, Verdict
from tests.workbench.cast import Cast, create_cast
from tests.workbench.scene import TEXT, Scene, make_document, make_run
from workbench.accounts.models import MemberRole, Membership, User
from workbench.checklists.services import question_set_create, round_fill, round_start
from workbench.documents.models import Document
from workbench.review.comments import comment_add
from workbench.review.comparison import comparison_start
from workbench.review.learning import CONFIRMED
from workbench.review.models import ItemStage
from workbench.review.policy import policy_set
from workbench.review.services import candidate_choose
from workbench.runs import execution
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import Candidate, Comparison, Run
from workbench.runs.services import question_ask, run_cancel
from workbench.synonyms.models import DictionaryEntry
from workbench.synonyms.services import entry_approve

#: Words of the machine's reason, of the first reviewer's comment and of what was said beside the card.
MARKS = ("machine-reason-zq", "first-comment-zq", "said-beside-zq")
REASON, COMMENT, BESIDE = MARKS
QUESTION = "How long are access records kept?"
LONGER = TEXT | {
    "4 Exceptions": [
        "Access records of a pending case are kept until the case is closed.",
        "The legal department lists these cases.",
    ],
    "5 Backups": ["Backups of access records are kept for ninety days.", "They are encrypted."],
    "6 Reviews": ["The retention of access records is reviewed every year."],
}


@dataclass(frozen=True)
class World:
    """The roles of the candidates in the order of the document, the machine's and the first reviewer's, each repeated
    from its beginning; and the probabilities that go with the machine's."""

    name: str
    machine: Sequence[Role]
    first: Sequence[Role]


P, S, T, D = Role.PRIMARY, Role.SUPPORTING, Role.TANGENTIAL, Role.DISCARDED
WORLDS = (
    World("as it is", machine=(P, D, S, T), first=(P, P, D, T)),
    World("turned round", machine=(D, T, P, S), first=(D, D, P, S)),
    World("nothing found", machine=(D,), first=(S, D)),
)


@dataclass(frozen=True)
class Given:
    """A strategy that says what the world says."""

    name: str
    world: World

    def decide(self, pool: CandidatePool, *, services: StrategyServices) -> StrategyOutcome:
        """A role for each candidate; where it stands in the document alone decides."""
        places = sorted(
            pool.candidates, key=lambda c: (c.document_id, c.anchor.page_start, c.anchor.line_start)
        )
        return StrategyOutcome(
            verdicts=tuple(
                self._verdict(candidate.candidate_id, turn(self.world.machine, place))
                for place, candidate in enumerate(places)
            )
        )

    def _verdict(self, name: str, role: Role) -> Verdict:
        probability = {P: 0.95, S: 0.7, T: 0.4, D: 0.05}[role]
        return Verdict(
            candidate_id=name,
            role=role,
            reason=f"{REASON}: this is {role.value}.",
            decided_by=DecidedBy(kind="rule" if role in {P, D} else "mlp", name=f"decider of {role.value}"),
            probability=probability,
            raw_score=probability,
            score_scale="probability",
            normalised_score=probability,
            needs_person=role is T,
            needs_person_reasons=("uncertain",) if role is T else (),
            counter_argument=f"{REASON} against {role.value}",
        )


def turn(roles: Sequence[Role], place: int) -> Role:
    """The role at a place; after the last the first again."""
    return roles[place % len(roles)]


@dataclass(frozen=True)
class Hidden:
    """A world as it stands before the second reviewer decides. ``everywhere`` is a second reviewer who holds every
    other role as well. ``stopped`` is a run that was cancelled between its verdicts and its cards."""

    cast: Cast
    scene: Scene
    everywhere: User
    stopped: Run

    @property
    def stopped_scene(self) -> Scene:
        """The scene with the stopped run in place of its own."""
        return replace(self.scene, run=self.stopped)


@contextmanager
def hidden_world(world: World, patch: pytest.MonkeyPatch) -> Iterator[Hidden]:
    """The world, in a transaction that is taken back. ``work_here`` must hold."""
    with transaction.atomic():
        _keys_begin_at_a_thousand()
        for cache in caches.all():
            cache.clear()
        patch.setattr(execution, "get_strategy", lambda name: Given(name, world))
        yield _build(world)
        transaction.set_rollback(True)


def _keys_begin_at_a_thousand() -> None:
    """A sequence does not follow a transaction back, unless it is told to begin anew within it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT format('%I.%I', schemaname, sequencename) FROM pg_sequences")
        for (name,) in cursor.fetchall():
            cursor.execute(f"ALTER SEQUENCE {name} RESTART WITH 1000")


def _build(world: World) -> Hidden:
    cast = create_cast()
    everywhere = User.objects.create_user("everywhere@example.org", "x" * 20, name="Every Where")
    Membership.objects.bulk_create(
        Membership(user=everywhere, collection=cast.alpha, role=role) for role in MemberRole
    )
    policy_set(actor=cast.admin, collection=cast.alpha, blind_share=1, second_share=1)
    document = make_document(collection=cast.alpha, owner=cast.analyst, text=LONGER)
    run = make_run(asker=cast.analyst, document=document, text=QUESTION)
    _first_review(world, run, cast)
    scene = Scene(
        document=document,
        run=Run.objects.get(pk=run.pk),
        comparison=_comparison(cast, document),
        round=_round(cast, document),
        entry=_learned(cast, run),
    )
    stopped = _stopped(cast, document)
    Run.objects.update(elapsed_ms=1000)
    return Hidden(cast, scene, everywhere, Run.objects.get(pk=stopped.pk))


def _stopped(cast: Cast, document: Document) -> Run:
    """A run that has verdicts and no cards, with somebody's words on one of its verdicts."""
    run = question_ask(
        actor=cast.analyst,
        collection=cast.alpha,
        document=document,
        text=QUESTION,
        strategy="offline",
        use_cache=False,
    ).run
    for stage in (run_detect, run_arbitrate):
        stage(run_id=run.pk)
    run_cancel(actor=cast.analyst, run=run)
    candidate = run.candidates.select_related("verdict").order_by("pk").first()
    assert candidate is not None
    assert not run.queue_items.exists()
    comment_add(
        actor=cast.analyst,
        run=run,
        candidate=candidate,
        body=f"{BESIDE} @second-reviewer {candidate.verdict.role}",
    )
    return run


def _first_review(world: World, run: Run, cast: Cast) -> None:
    """The first reviewer has decided every other card; the others wait for anybody's blind decision."""
    candidates = list(run.candidates.order_by("anchor_page_start", "anchor_line_start"))
    assert len(candidates) >= 4, "a world needs a card of each role"
    for place, candidate in enumerate(candidates[::2]):
        role = turn(world.first, place).value
        candidate_choose(actor=cast.reviewer, candidate=candidate, role=role, comment=f"{COMMENT}: {role}")
        comment_add(
            actor=cast.reviewer, run=run, candidate=candidate, body=f"{BESIDE} @second-reviewer {role}"
        )
    stages = set(run.queue_items.values_list("stage", flat=True))
    assert stages == {ItemStage.FIRST, ItemStage.SECOND}


def _learned(cast: Cast, run: Run) -> DictionaryEntry:
    """A pair in use that was learned from the first decision to keep a passage, as :func:`alias_learn` has it, and one
    more that waits. Both tell which passage that was."""
    kept = run.reviews.filter(role__in=CONFIRMED).earliest("pk")
    learned, _waiting = (
        DictionaryEntry.objects.create(
            collection=cast.alpha,
            term="log",
            variant=variant,
            proposed_from=kept,
            proposed_by=User.objects.system(),
        )
        for variant in ("access records", "records")
    )
    return entry_approve(actor=cast.admin, entry=learned)


def _comparison(cast: Cast, document: Document) -> Comparison:
    compared = comparison_start(
        actor=cast.analyst,
        collection=cast.alpha,
        document=document,
        text=QUESTION,
        strategies=["offline", "bm25"],
    )
    for run in compared.runs.exclude(status="done"):
        for stage in (run_detect, run_arbitrate, run_answer):
            stage(run_id=run.pk)
    return compared


def _round(cast: Cast, document: Document) -> Any:
    questions = question_set_create(
        actor=cast.analyst, collection=cast.alpha, name="Records", questions=[QUESTION]
    )
    made = round_start(actor=cast.analyst, question_set=questions, documents=[document], strategy="offline")
    round_fill(round_id=made.pk)
    return made


def hidden_candidates(scene: Scene) -> list[Candidate]:
    """Every candidate of the run: all of them are hidden from a second reviewer."""
    return list(scene.run.candidates.order_by("pk"))


#: What differs between two answers to the same request: moments, times taken, and what is drawn anew each time.
_ALWAYS_NEW = [
    (re.compile(pattern), told)
    for pattern, told in (
        (r'(name="csrfmiddlewaretoken" value=")[^"]+', r"\1-"),
        (r'(X-CSRFToken&quot;: &quot;|"X-CSRFToken": ")[A-Za-z0-9]+', r"\1-"),
        (r'(name="csrf-token" content=")[^"]+', r"\1-"),
        (r'data-elapsed="[^"]+"', 'data-elapsed="-"'),
        (r'nonce="[^"]+"', 'nonce="-"'),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?", "moment"),
        (r"\b\d{1,2}:\d\d(:\d\d)?\b", "time"),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "uuid"),
        (r"\b\d+([.,]\d+)?( |&nbsp;|\u00a0)?(ms|s)\b", "while"),
        (r'("(ms|elapsed_ms|latency_ms|seconds)": ?)[\d.]+', r"\1-"),
    )
]


def timeless(body: str) -> str:
    """An answer without what is new each time."""
    for pattern, told in _ALWAYS_NEW:
        body = pattern.sub(told, body)
    return body
