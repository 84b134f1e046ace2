"""The Trust page: shares of what people decided, with the numbers behind them."""

from __future__ import annotations

from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import ClientAs, queries_of, role_other_than
from tests.workbench.scene import Scene, make_run
from workbench.accounts.models import User
from workbench.operations.trust import conduct_of, lost_unseen, misses_of
from workbench.review.evidence import evidence_add
from workbench.review.models import ReasonCode, Review, ReviewAction
from workbench.runs.models import Candidate


def decide(candidate: Candidate, person: User, *, role: str, seconds: float) -> None:
    """A decision that took so long: written as the service writes it, which reads the clock."""
    machine_role = candidate.verdict.role
    action = ReviewAction.APPROVE if role == machine_role else ReviewAction.OVERRIDE
    Review.objects.create(
        run=candidate.run,
        candidate=candidate,
        reviewer=person,
        action=action,
        role=role,
        machine_role=machine_role,
        reason_code="" if role == machine_role else ReasonCode.WRONG_ROLE,
        seconds_on_card=seconds,
    )


def test_agreement_is_counted_by_time_on_the_card(cast: Cast, scene: Scene) -> None:
    first, second = scene.run.candidates.filter(verdict__role__isnull=False, reviews__isnull=True)[:2]
    decide(first, cast.reviewer, role=first.verdict.role, seconds=2.0)
    decide(second, cast.reviewer, role=role_other_than(second.verdict.role), seconds=40.0)
    conduct = conduct_of(collection=cast.alpha)
    assert (conduct.seen.part, conduct.seen.figure.n) == (2, 3)  # one was approved before, without a time
    assert [(row.name, row.part, row.figure.n) for row in conduct.by_time] == [
        ("under 3 s", 1, 1),
        ("30 s to 2 min", 0, 1),
    ]
    assert conduct.blind.figure.n == conduct.second.figure.n == 0
    assert conduct_of(collection=cast.beta).seen.figure.n == 0


def test_evidence_that_a_person_added_counts_as_missed(cast: Cast, scene: Scene) -> None:
    (before,) = misses_of(collection=cast.alpha).by_month
    assert (before.part, before.figure.n) == (0, 1)
    evidence_add(
        actor=cast.reviewer,
        run=scene.run,
        document=scene.document,
        first=(1, 2),
        last=(1, 3),
        role="primary",
        reason="It says who it applies to.",
    )
    (after,) = misses_of(collection=cast.alpha).by_month
    assert (after.part, after.figure.n, after.figure.value) == (1, 1, 1.0)


def test_a_question_whose_evidence_was_all_discarded_counts_as_lost(cast: Cast, scene: Scene) -> None:
    def found(candidate: Candidate, machine_role: str) -> None:
        Review.objects.create(
            run=candidate.run,
            candidate=candidate,
            reviewer=cast.reviewer,
            action=ReviewAction.APPROVE if machine_role == "supporting" else ReviewAction.OVERRIDE,
            role="supporting",
            machine_role=machine_role,
            reason_code="" if machine_role == "supporting" else ReasonCode.WRONG_ROLE,
        )

    run = make_run(asker=cast.analyst, document=scene.document, text="Who may see the access records?")
    discarded, kept = run.candidates.filter(verdict__role__isnull=False)[:2]
    before = lost_unseen(collection=cast.alpha)
    assert before.questions.part == 0

    found(discarded, "discarded")
    after = lost_unseen(collection=cast.alpha)
    assert after.questions.part == 1
    assert after.questions.figure.n == before.questions.figure.n + 1
    assert after.bound is after.bound_percent is None  # nothing is promised on so few questions

    found(kept, "supporting")
    assert lost_unseen(collection=cast.alpha).questions.part == 0
    assert lost_unseen(collection=cast.beta).questions.figure.n == 0


def test_the_page_is_for_those_who_answer_for_the_verdicts(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    address = reverse("ops:trust")
    for person in (cast.reviewer, cast.admin, cast.auditor):
        page = client_as(person).get(address).content.decode()
        assert "Evidence the machine missed" in page
        assert "No sample of discarded candidates was drawn yet." in page
        assert "As shipped, at most 10 % of questions lose all evidence" in page
        assert '<td class="num">100 %' in page  # of the one approval there is; shares are never bare figures
    for person in (cast.analyst, cast.annotator):
        assert "No collection to look at" in client_as(person).get(address).content.decode()
    assert "Alpha" not in client_as(cast.outsider).get(f"{address}?collection=alpha").content.decode()
    assert queries_of(client_as(cast.admin), address) <= 15
