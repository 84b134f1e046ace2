"""One item of the queue, and the way from card to card."""

from __future__ import annotations

import json

import pytest
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import HTMX, ClientAs
from tests.workbench.scene import Scene
from workbench.review import waiting
from workbench.review.models import QueueItem
from workbench.review.queue import queue_claim, queue_claim_next
from workbench.runs.models import Run
from workbench.runs.places import lines_short
from workbench.runs.records import anchor_of

NEXT = "/queue/next/"


def item_of(location: str) -> QueueItem:
    return QueueItem.objects.get(pk=int(location.split("?")[0].rstrip("/").rsplit("/", 1)[1]))


def take(client: Client) -> QueueItem:
    return item_of(client.post(NEXT)["Location"])


def test_only_reviewers_of_the_collection_open_it(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    address = reverse("review:item", args=[scene.run.queue_items.first().pk])
    for name, user in cast.members.items():
        expected = 200 if name in {"reviewer", "second_reviewer"} else 404
        assert client_as(user).get(address).status_code == expected, name
    assert client_as(cast.outsider).get(address).status_code == 404


def test_it_says_why_it_is_here_and_shows_the_whole_card(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    item = scene.run.queue_items.filter(state="waiting", is_required=True).first()
    page = client_as(cast.reviewer).get(reverse("review:item", args=[item.pk]))
    assert "here because" in page.content.decode()
    assert page.context["card"]["is_brief"] is False
    assert f'name="next" value="{NEXT}"' in page.content.decode()


def test_a_decision_leads_to_the_next_item_claimed(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client = client_as(cast.reviewer)
    item = take(client)
    answer = client.post(reverse("review:approve", args=[item.candidate_id]), {"next": NEXT})
    after = item_of(answer["Location"])
    assert after.pk != item.pk
    assert after.claimed_by == cast.reviewer
    said = client.get(answer["Location"]).content.decode()
    assert "Approved:" in said
    assert lines_short(anchor_of(item.candidate)) in said


def test_with_htmx_the_next_card_takes_the_place_of_this_one(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    client = client_as(cast.reviewer)
    item = take(client)
    answer = client.post(reverse("review:approve", args=[item.candidate_id]), {"next": NEXT}, headers=HTMX)
    told = json.loads(answer["HX-Location"])
    assert item_of(told["path"]).pk != item.pk
    assert (told["target"], told["select"]) == ("#main", "#main")
    QueueItem.objects.update(state="decided")
    last = item_of(told["path"])
    QueueItem.objects.filter(pk=last.pk).update(state="waiting")
    done = client.post(reverse("review:approve", args=[last.candidate_id]), {"next": NEXT}, headers=HTMX)
    assert done["HX-Redirect"] == "/queue/", "the list is another page"


def test_undo_leads_back_to_the_card_which_is_the_persons_again(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    client = client_as(cast.reviewer)
    item = take(client)
    following = client.post(reverse("review:approve", args=[item.candidate_id]), {"next": NEXT})["Location"]
    page = client.get(following)
    undo = page.context["undo"]
    assert f">{item.candidate.candidate_id}<" not in page.content.decode(), "a name for programs"
    assert f"Undo {undo['label']}" in page.content.decode()
    answer = client.post(undo["url"], {"next": undo["back"]})
    assert answer["Location"] == reverse("review:item", args=[item.pk])
    item.refresh_from_db()
    assert (item.state, item.claimed_by) == ("waiting", cast.reviewer)


def test_undo_of_a_not_found_leads_back_to_it(cast: Cast, client_as: ClientAs, not_found_run: Run) -> None:
    client = client_as(cast.reviewer)
    item = not_found_run.queue_items.get(candidate__isnull=True)
    client.post(reverse("review:not-found", args=[not_found_run.pk]), {"decision": "confirm", "next": NEXT})
    page = client.get(reverse("review:item", args=[item.pk]))
    undo = page.context["undo"]
    answer = client.post(undo["url"], {"next": undo["back"]})
    assert answer["Location"] == reverse("review:item", args=[item.pk])
    item.refresh_from_db()
    assert (item.state, item.claimed_by) == ("waiting", cast.reviewer)


def test_a_refused_decision_stays_on_the_card(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client = client_as(cast.reviewer)
    item = take(client)
    data = {"next": NEXT, "item": item.pk, "role": "primary"}
    answer = client.post(reverse("review:override", args=[item.candidate_id]), data)
    assert answer.status_code == 422
    assert f'name="next" value="{NEXT}"' in answer.content.decode()
    assert f'name="item" value="{item.pk}"' in answer.content.decode()
    assert not item.candidate.reviews.exists()


def test_what_one_cannot_tell_comes_back_to_somebody_else(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    client = client_as(cast.reviewer)
    item = take(client)
    answer = client.post(reverse("review:unsure", args=[item.candidate_id]), {"next": NEXT})
    assert item_of(answer["Location"]).pk != item.pk
    assert take(client_as(cast.second_reviewer)).pk == item.pk


def test_the_chosen_collection_is_kept_from_card_to_card(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    client = client_as(cast.reviewer)
    location = client.post(NEXT, {"collection": str(cast.alpha.pk)})["Location"]
    assert location.endswith(f"?collection={cast.alpha.pk}")
    page = client.get(location)
    assert page.context["next_url"] == f"{NEXT}?collection={cast.alpha.pk}"
    data = {"next": page.context["next_url"]}
    answer = client.post(reverse("review:approve", args=[item_of(location).candidate_id]), data)
    assert answer["Location"].endswith(f"?collection={cast.alpha.pk}")


def test_the_last_decision_leads_back_to_the_queue(
    cast: Cast, client_as: ClientAs, not_found_run: Run
) -> None:
    QueueItem.objects.filter(candidate__isnull=False).update(state="decided")
    client = client_as(cast.reviewer)
    item = take(client)
    data = {"decision": "confirm", "next": NEXT, "item": item.pk}
    answer = client.post(reverse("review:not-found", args=[not_found_run.pk]), data, follow=True)
    assert answer.redirect_chain[-1][0] == "/queue/"
    assert "Not found confirmed" in answer.content.decode()
    assert "Nothing waits for you here." in answer.content.decode()


def pass_over(client: Client, item: QueueItem) -> QueueItem:
    return item_of(client.post(NEXT, {"past": item.pk})["Location"])


def way_back(client: Client, item: QueueItem) -> str:
    return str(client.get(reverse("review:item", args=[item.pk])).context["back_url"])


def test_the_way_back_leads_to_what_was_passed_over_and_frees_what_is_left(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    QueueItem.objects.update(state="waiting")
    client = client_as(cast.reviewer)
    first = take(client)
    assert way_back(client, first) == ""
    second = pass_over(client, first)
    third = pass_over(client, second)

    for here, before in ((third, second), (second, first)):
        back = way_back(client, here)
        assert back == reverse("review:claim", args=[before.pk])
        page = client.get(reverse("review:item", args=[here.pk])).content.decode()
        form = page[page.index(f'action="{back}"') :]
        form = form[: form.index("</form>")]
        assert 'data-key="k"' in form
        assert f'name="left" value="{here.pk}"' in form
        answer = client.post(f"{back}?show=all", {"left": here.pk})
        assert answer["Location"] == reverse("review:item", args=[before.pk]) + "?show=all"
        assert QueueItem.objects.get(claimed_by=cast.reviewer).pk == before.pk
    assert way_back(client, first) == ""
    assert pass_over(client, first).pk == second.pk, "forward again, in the order of the queue"


def test_what_is_decided_by_now_is_no_way_back(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    QueueItem.objects.update(state="waiting")
    client = client_as(cast.reviewer)
    first = take(client)
    second = pass_over(client, first)
    third = pass_over(client, second)
    back = way_back(client, third)
    QueueItem.objects.filter(pk=second.pk).update(state="decided")

    assert way_back(client, third) == reverse("review:claim", args=[first.pk])
    said = client.post(back, {"left": third.pk}, follow=True)
    assert "This card is decided already." in said.content.decode(), "decided after the page was shown"
    assert QueueItem.objects.get(claimed_by=cast.reviewer).pk == third.pk


@pytest.mark.parametrize("field", ["claimed_by", "assigned_to"])
def test_what_somebody_else_has_by_now_stays_theirs_and_one_keeps_ones_own(
    field: str, cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    QueueItem.objects.update(state="waiting")
    client = client_as(cast.reviewer)
    first = take(client)
    second = pass_over(client, first)
    if field == "claimed_by":
        queue_claim(actor=cast.second_reviewer, item=first)
    else:
        QueueItem.objects.filter(pk=first.pk).update(assigned_to=cast.second_reviewer)

    answer = client.post(way_back(client, second), {"left": second.pk}, follow=True)

    assert answer.redirect_chain[-1][0] == reverse("review:item", args=[second.pk])
    assert "Second Reviewer has taken the card that you skipped." in answer.content.decode()
    first.refresh_from_db()
    second.refresh_from_db()
    assert getattr(first, field) == cast.second_reviewer
    assert first.claimed_by_id != cast.reviewer.pk
    assert second.claimed_by == cast.reviewer
    assert answer.context["back_url"] == "", "that one is not offered again"


def test_the_way_back_costs_one_query_and_only_where_there_is_one(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    QueueItem.objects.update(state="waiting")
    client = client_as(cast.reviewer)
    first = take(client)
    second = pass_over(client, first)
    address = reverse("review:item", args=[second.pk])
    client.get(address)
    with CaptureQueriesContext(connection) as with_way_back:
        client.get(address)
    session = client.session
    session["review.passed"] = []
    session.save()
    with CaptureQueriesContext(connection) as without:
        client.get(address)
    assert len(with_way_back) == len(without) + 1


def test_an_item_of_somebody_else_says_so(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    item = queue_claim_next(actor=cast.second_reviewer)
    assert item is not None
    page = client_as(cast.reviewer).get(reverse("review:item", args=[item.pk])).content.decode()
    assert "with Second Reviewer" in page
    assert reverse("review:claim", args=[item.pk]) not in page


def test_an_item_held_by_nobody_can_be_taken(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    item = scene.run.queue_items.filter(state="waiting").first()
    client, address = client_as(cast.reviewer), reverse("review:item", args=[item.pk])
    assert reverse("review:claim", args=[item.pk]) in client.get(address).content.decode()
    queue_claim(actor=cast.reviewer, item=item)
    assert reverse("review:release", args=[item.pk]) in client.get(address).content.decode()


def test_colleagues_are_named_where_somebody_hands_over(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    """The card leads there; the page, or for htmx its form alone, says to whom: never to oneself."""
    item = queue_claim_next(actor=cast.reviewer)
    assert item is not None
    client, address = client_as(cast.reviewer), reverse("review:hand-over", args=[item.pk])
    page = client.get(reverse("review:item", args=[item.pk])).content.decode()
    assert f'<a href="{address}">' in page, "without scripts the menu holds a link"
    assert f'hx-get="{address}"' in page
    for headers, whole in (({}, True), (HTMX, False)):
        form = client.get(address, headers=headers).content.decode()
        assert ("<html" in form) is whole
        assert "Second Reviewer</option>" in form
        assert f'value="{cast.reviewer.pk}"' not in form
    QueueItem.objects.filter(pk=item.pk).update(stage="second", first_reviewer=cast.second_reviewer)
    assert "Nobody else may decide this" in client.get(address).content.decode()


def test_the_number_that_ends_at_a_thousand_is_believed_for_a_while(
    cast: Cast,
    client_as: ClientAs,
    scene: Scene,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "MOST_TOLD", 0)
    client = client_as(cast.reviewer)
    client.get("/notifications/")
    counted = [query["sql"] for query in _queries(client) if "count(" in query["sql"].lower()]
    assert counted
    assert not any("review_queueitem" in sql for sql in counted)
    assert "0+" in client.get("/notifications/").content.decode()
    caches["process"].clear()
    assert any("review_queueitem" in query["sql"] for query in _queries(client))


def _queries(client: Client) -> list[dict[str, str]]:
    with CaptureQueriesContext(connection) as captured:
        client.get("/notifications/")
    return list(captured.captured_queries)
