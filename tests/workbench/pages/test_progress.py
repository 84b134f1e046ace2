"""The Progress page: the queue day by day, reviewers week by week; the API tells the same."""

from __future__ import annotations

from django.urls import reverse
from django.utils import timezone

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import ClientAs, queries_of, role_other_than
from tests.workbench.pages.test_trust import decide
from tests.workbench.scene import Scene
from workbench.infra.dates import week_of
from workbench.operations.progress import WEEKS, progress_of
from workbench.review.models import ItemStage, ItemState, QueueItem

API = "/api/v1/collections/alpha/progress/"


def test_the_queue_is_reckoned_back_from_what_waits_now(cast: Cast, scene: Scene) -> None:
    items = QueueItem.objects.filter(collection=cast.alpha, is_required=True)
    waiting, decided = items.filter(state=ItemState.WAITING), items.filter(state=ItemState.DECIDED)
    days = progress_of(collection=cast.alpha).queue
    assert days[0].day == week_of(days[0].day)
    assert days[-1].day == timezone.now().date()
    assert len(days) == 7 * (WEEKS - 1) + timezone.now().date().weekday() + 1
    today, before = days[-1], days[-2]
    assert (today.entered, today.decided, today.waiting) == (items.count(), decided.count(), waiting.count())
    assert before.waiting == before.entered == 0


def test_decisions_count_by_reviewer_once_their_card_is_settled(cast: Cast, scene: Scene) -> None:
    first, second = scene.run.candidates.filter(verdict__role__isnull=False, reviews__isnull=True)[:2]
    decide(first, cast.reviewer, role=first.verdict.role, seconds=2.0)
    decide(second, cast.reviewer, role=role_other_than(second.verdict.role), seconds=40.0)
    (week,) = progress_of(collection=cast.alpha).reviewers
    assert (week.reviewer, week.decided, week.agreed, week.compared) == (cast.reviewer.name, 3, 2, 3)
    QueueItem.objects.filter(candidate=second).update(
        state=ItemState.WAITING, stage=ItemStage.SECOND, first_reviewer=cast.reviewer
    )
    (hidden,) = progress_of(collection=cast.alpha).reviewers
    assert (hidden.decided, hidden.agreed, hidden.compared) == (2, 2, 2)
    assert progress_of(collection=cast.beta).reviewers == []


def test_the_page_and_the_api_are_for_those_who_answer_for_the_verdicts(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    address = reverse("ops:progress")
    for person in (cast.reviewer, cast.admin, cast.auditor):
        page = client_as(person).get(address).content.decode()
        assert page.count('class="plot plot--chart"') == 3
        assert page.count("Show as table") == 3
    shown = client_as(cast.auditor).get(API).json()
    assert (
        shown["queue"][-1]["entered"]
        == QueueItem.objects.filter(collection=cast.alpha, is_required=True).count()
    )
    assert shown["reviewers"][0]["reviewer"] == cast.reviewer.name
    assert shown["second_reviews"] == []
    for person in (cast.analyst, cast.annotator):
        assert "No collection to look at" in client_as(person).get(address).content.decode()
        assert client_as(person).get(API).status_code == 404
    assert queries_of(client_as(cast.admin), address) <= 15
