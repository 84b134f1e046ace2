"""The queue: who sees it, how it is filtered, and that an item is nobody else's."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import ClientAs, grow
from tests.workbench.scene import Scene, make_run
from workbench.review import queue_page
from workbench.review.models import QueueItem
from workbench.review.queue import queue_claim, queue_claim_next
from workbench.review.selectors import queue_open
from workbench.runs.models import Run

ADDRESS = "/queue/"
LIST = f"{ADDRESS}?show=all"


def shown(client: Client, query: str = "") -> list[int]:
    return [row["item"].pk for row in client.get(f"{ADDRESS}{query}").context["rows"]]


def test_reviewers_see_what_waits_and_nobody_else_does(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    waiting = scene.run.queue_items.filter(state="waiting", is_required=True)
    for name, user in cast.members.items():
        expected = waiting.count() if name in {"reviewer", "second_reviewer"} else 0
        assert len(shown(client_as(user))) == expected, name


def test_most_urgent_first_and_filtered_by_the_address(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client = client_as(cast.reviewer)
    everything = scene.run.queue_items.filter(state="waiting")
    assert shown(client, "?show=all") == list(
        everything.order_by("-priority", "id").values_list("pk", flat=True)
    )
    for code in ("primary", "uncertain", "nonsense"):
        assert set(shown(client, f"?show=all&why={code}")) == {i.pk for i in everything if code in i.why}
    assert shown(client, "?collection=beta&show=all&after=x") == shown(client, "?show=all")


def test_the_next_item_is_claimed_and_opened(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    first = client_as(cast.reviewer).post(f"{ADDRESS}next/")["Location"]
    second = client_as(cast.second_reviewer).post(f"{ADDRESS}next/")["Location"]
    assert first != second
    held = QueueItem.objects.get(claimed_by=cast.reviewer)
    assert first == reverse("review:item", args=[held.pk])


def test_an_empty_queue_says_so(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.reviewer)
    assert "Nothing to review" in client.get(ADDRESS).content.decode()
    answer = client.post(f"{ADDRESS}next/", follow=True)
    assert "Nothing waits for you here." in answer.content.decode()


def test_an_item_of_the_list_can_be_taken_unless_somebody_has_it(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    item = scene.run.queue_items.filter(state="waiting").first()
    take = reverse("review:claim", args=[item.pk])
    for user in (cast.analyst, cast.auditor, cast.outsider):
        assert client_as(user).post(take).status_code == 404
    client_as(cast.reviewer).post(take)
    item.refresh_from_db()
    assert item.claimed_by == cast.reviewer
    late = client_as(cast.second_reviewer).post(take, follow=True)
    assert "is working on this card" in late.content.decode()
    item.refresh_from_db()
    assert item.claimed_by == cast.reviewer


def test_giving_back_is_for_its_holder(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    item = queue_claim_next(actor=cast.reviewer)
    assert item is not None
    release = reverse("review:release", args=[item.pk])
    client_as(cast.second_reviewer).post(release)
    item.refresh_from_db()
    assert item.claimed_by == cast.reviewer
    client_as(cast.reviewer).post(release)
    item.refresh_from_db()
    assert item.claimed_by is None


@pytest.mark.usefixtures("scene")
def test_rows_say_who_holds_them(cast: Cast, client_as: ClientAs) -> None:
    item = QueueItem.objects.filter(state="waiting", is_required=True).first()
    queue_claim(actor=cast.second_reviewer, item=item)
    assert "with Second Reviewer" in client_as(cast.reviewer).get(ADDRESS).content.decode()
    assert "yours" in client_as(cast.second_reviewer).get(ADDRESS).content.decode()


def test_a_not_found_waits_with_what_was_searched(
    cast: Cast, client_as: ClientAs, not_found_run: Run
) -> None:
    page = client_as(cast.reviewer).get(ADDRESS).content.decode()
    assert not_found_run.question.text in page
    assert f"<span>{not_found_run.question.document}</span>" in page, (
        "rows of one question differ by their document"
    )
    assert "Searched &#x27;cryptocurrency&#x27;" in page
    assert "no_keyword_match" not in page, "a word for programs"


def test_the_list_goes_on_behind_its_last_question_whatever_was_decided_meanwhile(
    cast: Cast, client_as: ClientAs, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ("Who keeps the records?", "When are records deleted?", "Where are records kept?")
    for text in texts:
        make_run(asker=cast.analyst, document=scene.document, text=text)
    client = client_as(cast.reviewer)
    everything = list(dict.fromkeys(row["item"].run_id for row in client.get(LIST).context["rows"]))
    monkeypatch.setattr(queue_page, "PAGE_GROUPS", 2)

    first = client.get(LIST)
    seen = [group["run_id"] for group in first.context["groups"]]
    QueueItem.objects.filter(run__in=seen).update(state="decided")
    following = client.get(first.context["pager"]["next_url"])

    assert len(everything) == 4
    assert seen == everything[:2]
    assert [group["run_id"] for group in following.context["groups"]] == everything[2:4]
    assert following.context["pager"]["first_url"] == LIST


def test_a_question_is_said_once_above_its_cards_with_how_far_it_is(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    grow(scene.run, to=12)
    required = scene.run.queue_items.filter(is_required=True)
    assert required.count() > 2
    required.filter(pk=required.order_by("pk")[0].pk).update(state="decided")
    page = client_as(cast.reviewer).get(LIST)
    (group,) = page.context["groups"]
    body = page.content.decode()

    assert group["rest"] == group["count"] - queue_page.GROUP_SHOWN > 0
    assert body.count(f">{scene.run.question.text}</a>") == 1
    assert f"1 of {required.count()} decided, then the answer is final" in body
    alone = client_as(cast.reviewer).get(group["rest_url"])
    assert len(alone.context["rows"]) == group["count"]
    assert alone.context["all_url"] == LIST


def test_a_whole_question_is_taken_and_given_back(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client = client_as(cast.reviewer)
    (group,) = client.get(LIST).context["groups"]
    opened = client.post(group["take_url"])["Location"]
    mine = QueueItem.objects.filter(claimed_by=cast.reviewer)
    assert mine.count() == group["count"]
    assert opened == reverse("review:item", args=[group["first"]["item"].pk]) + "?show=all"
    page = client.get(opened)
    assert f"Release all {group['count']}" in page.content.decode()
    other = client_as(cast.second_reviewer).post(group["take_url"], follow=True)
    assert "No card of this question is free for you." in other.content.decode()
    client.post(group["release_url"])
    assert not mine.exists()


def test_by_age_and_by_collection(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    newer = make_run(asker=cast.analyst, document=scene.document, text="Who keeps the records?")
    QueueItem.objects.filter(run=newer).update(priority=1.0)
    client = client_as(cast.reviewer)
    for order, words, first in (
        ("risk", "most urgent first", newer.pk),
        ("age", "oldest first", scene.run.pk),
        ("collection", "by collection", newer.pk),
        ("nonsense", "most urgent first", newer.pk),
    ):
        page = client.get(f"{LIST}&order={order}")
        assert words in page.content.decode(), order
        assert page.context["groups"][0]["run_id"] == first, order


def test_a_long_queue_is_counted_so_far_and_no_further(
    cast: Cast, client_as: ClientAs, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(scene.run, to=8)
    monkeypatch.setattr(queue_page, "MOST_COUNTED", 2)

    assert "More than 2 to review" in client_as(cast.reviewer).get(f"{ADDRESS}?show=all").content.decode()


def test_what_was_handed_to_somebody_is_their_next_however_little_it_urges(cast: Cast, scene: Scene) -> None:
    *_, last = queue_open(user=cast.reviewer)
    QueueItem.objects.filter(pk=last.pk).update(assigned_to=cast.reviewer)

    taken = queue_claim_next(actor=cast.reviewer)

    assert taken == last
    assert queue_claim_next(actor=cast.second_reviewer) != last
