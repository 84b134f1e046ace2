"""Deciding a card: who may, what is refused with nothing lost, and what htmx gets."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import HTMX, ClientAs, role_other_than
from tests.workbench.scene import Scene
from workbench.review.models import Review
from workbench.review.queue import queue_claim
from workbench.review.services import candidate_approve, candidate_override
from workbench.runs.models import Candidate


def address(name: str, candidate: Candidate) -> str:
    return reverse(f"review:{name}", args=[candidate.pk])


def override(candidate: Candidate, **changes: object) -> dict[str, object]:
    return {
        "role": role_other_than(candidate.verdict.role),
        "reason_code": "wrong_passage",
        "comment": "It is the next one.",
    } | changes


@pytest.mark.parametrize("name", ["approve", "override", "unsure"])
def test_reviewers_decide_and_nobody_else(
    name: str, cast: Cast, client_as: ClientAs, undecided: Candidate
) -> None:
    for who, user in cast.members.items():
        if who not in {"reviewer", "second_reviewer"}:
            client_as(user).post(address(name, undecided), override(undecided))
            assert not undecided.reviews.exists(), who
    assert client_as(cast.outsider).post(address(name, undecided), override(undecided)).status_code == 404
    assert client_as(None).post(address(name, undecided), override(undecided)).status_code == 302
    answer = client_as(cast.reviewer).post(address(name, undecided), override(undecided))
    assert answer["Location"] == undecided.get_absolute_url()
    review = undecided.reviews.get()
    assert (review.reviewer, review.action) == (cast.reviewer, name)


def test_the_machines_word_stays(cast: Cast, client_as: ClientAs, undecided: Candidate) -> None:
    before = (undecided.verdict.role, undecided.verdict.reason)
    client_as(cast.reviewer).post(address("override", undecided), override(undecided))
    undecided.verdict.refresh_from_db()
    assert (undecided.verdict.role, undecided.verdict.reason) == before
    page = client_as(cast.auditor).get(undecided.run.get_absolute_url()).content.decode()
    assert "The machine said" in page
    assert "It is the next one." in page


def test_htmx_gets_the_card_and_what_changed_beside_it(
    cast: Cast, client_as: ClientAs, undecided: Candidate
) -> None:
    answer = client_as(cast.reviewer).post(address("override", undecided), override(undecided), headers=HTMX)
    html = answer.content.decode()
    assert answer.status_code == 200
    assert f'id="c-{undecided.candidate_id}"' in html
    assert "Reviewer decided" in html
    for part in ("tally", "answer-state"):
        assert f'id="{part}" hx-swap-oob="true"' in html
    said = json.loads(answer["HX-Trigger"])["workbench:announce"]["text"]
    assert said.startswith("Overridden.")


def test_an_override_marks_the_answer_stale_on_the_page(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    primary = scene.run.candidates.filter(verdict__role="primary").first()
    client = client_as(cast.reviewer)
    data = {"role": "discarded", "reason_code": "duplicate", "version": ""}
    data["version"] = str(primary.reviews.last().pk) if primary.reviews.exists() else ""
    assert "Stale" in client.post(address("override", primary), data, headers=HTMX).content.decode()
    assert "Stale" in client.get(scene.run.get_absolute_url()).content.decode()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"role": ""}, "Choose a role and a reason"),
        ({"role": "useful"}, "Choose a role and a reason"),
        ({"reason_code": ""}, "Choose a role and a reason"),
        ({"reason_code": "other", "comment": ""}, "Say in the comment"),
    ],
)
def test_wrong_input_is_refused_on_the_card_with_all_that_was_typed(
    changes: dict[str, object], words: str, cast: Cast, client_as: ClientAs, undecided: Candidate
) -> None:
    data = override(undecided, **changes)
    answer = client_as(cast.reviewer).post(address("override", undecided), data, headers=HTMX)
    html = answer.content.decode()
    assert answer.status_code == 422
    assert words in html
    assert 'class="override" open' in html
    if data["comment"]:
        assert "It is the next one." in html
    assert not undecided.reviews.exists()


def test_the_machines_role_is_no_override(cast: Cast, client_as: ClientAs, undecided: Candidate) -> None:
    data = override(undecided, role=undecided.verdict.role)
    answer = client_as(cast.reviewer).post(address("override", undecided), data, headers=HTMX)
    assert answer.status_code == 422
    assert "Approve it, or choose another" in answer.content.decode()


def late(client: Client, candidate: Candidate, **options: object) -> tuple[int, str]:
    answer = client.post(address("override", candidate), override(candidate), **options)  # type: ignore[arg-type]
    return answer.status_code, answer.content.decode()


@pytest.mark.parametrize("headers", [HTMX, {}], ids=["htmx", "plain"])
def test_a_late_decision_is_refused_kindly_with_nothing_lost(
    headers: dict[str, str], cast: Cast, client_as: ClientAs, undecided: Candidate
) -> None:
    candidate_approve(actor=cast.second_reviewer, candidate=undecided)
    status, html = late(client_as(cast.reviewer), undecided, headers=headers)
    assert status == 409
    assert "Second Reviewer decided this card meanwhile" in html
    assert "Approved by Second Reviewer" in html
    assert "It is the next one." in html  # what was typed
    version = undecided.reviews.get().pk
    assert f'name="version" value="{version}"' in html  # so that the next try counts
    assert ("<html" in html) is not headers


def test_a_card_that_somebody_holds_is_refused(cast: Cast, client_as: ClientAs, undecided: Candidate) -> None:
    queue_claim(actor=cast.second_reviewer, item=undecided.queue_item)
    status, html = late(client_as(cast.reviewer), undecided, headers=HTMX)
    assert status == 409
    assert "Second Reviewer is working on this card" in html


def test_a_change_of_mind_needs_to_have_seen_the_first_word(
    cast: Cast, client_as: ClientAs, undecided: Candidate
) -> None:
    first = candidate_override(
        actor=cast.second_reviewer,
        candidate=undecided,
        role=role_other_than(undecided.verdict.role),
        reason_code="duplicate",
    )
    client_as(cast.reviewer).post(address("approve", undecided), {"version": first.pk})
    assert Review.objects.get(supersedes=first).reviewer == cast.reviewer


@pytest.mark.parametrize("name", ["approve", "override", "unsure"])
def test_decisions_are_posts(name: str, cast: Cast, client_as: ClientAs, undecided: Candidate) -> None:
    assert client_as(cast.reviewer).get(address(name, undecided)).status_code == 405


def test_a_way_back_to_another_site_is_not_followed(
    cast: Cast, client_as: ClientAs, undecided: Candidate
) -> None:
    data = {"next": "https://elsewhere.example/"}
    answer = client_as(cast.reviewer).post(address("approve", undecided), data)
    assert answer["Location"].startswith("/runs/")
