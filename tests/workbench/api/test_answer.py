"""The answer of a run by the API: cited, provisional while cards wait, final, signed; of every version."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from arbitration.questions.same_words import Term, new_terms
from tests.workbench.addresses import undecided
from tests.workbench.cast import PASSWORD, Cast
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.review.models import ItemState, QueueItem
from workbench.review.record import record_digest, signed_record
from workbench.review.services import candidate_override, candidate_unsure, not_found_confirm
from workbench.review.signing import run_sign
from workbench.runs.models import Answer, Candidate, Run, RunStatus, Verdict, dom_id_of

pytestmark = pytest.mark.usefixtures("here")
ClientAs = Callable[[User | None], Client]


def told(client: Client, run: Run) -> dict[str, Any]:
    answer = client.get(f"/api/v1/runs/{run.pk}/answer/")
    assert answer.status_code == 200, answer.content
    body: dict[str, Any] = answer.json()
    return body


def decide_all(run: Run) -> None:
    QueueItem.objects.filter(run=run, state=ItemState.WAITING).update(state=ItemState.DECIDED)


def test_each_sentence_is_cited_to_lines_of_a_candidate(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    answer = told(client_as(cast.analyst), scene.run)
    assert answer["question"] == scene.run.question.text
    assert answer["sentences"]
    for sentence in answer["sentences"]:
        for cite in sentence["citations"]:
            candidate = scene.run.candidates.get(pk=cite["candidate"])
            assert (candidate.candidate_id, candidate.document_id) == (cite["candidate_id"], cite["document"])
            assert cite["place"].startswith(f"page {cite['page_start']}, line")
    assert [version["version"] for version in answer["versions"]] == [answer["version"]]
    assert answer["versions"][0]["sentences"] == answer["sentences"]


def test_which_text_replaces_which_is_told_as_the_page_tells_it(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    answer = scene.run.answers.get()
    sentence = answer.body["sentences"][0]
    said = {
        "kind": "amended",
        "headline": "Two texts differ; the later one is in force",
        "statement": "“Amendment”, in force from 1 March 2023, says 45 days; 4.2 of “Lease” says 30 days.",
        "in_force": sentence,
        "replaced": {"text": "Rent is due within 30 days.", "citations": sentence["citations"]},
    }
    Answer.objects.filter(pk=answer.pk).update(body=answer.body | {"differences": [said]})
    client = client_as(cast.analyst)
    (told_one,) = told(client, scene.run)["differences"]
    assert {name: told_one[name] for name in ("kind", "headline", "statement")} == {
        name: said[name] for name in ("kind", "headline", "statement")
    }
    assert told_one["in_force"] == told(client, scene.run)["sentences"][0]
    assert told_one["replaced"]["citations"][0]["candidate"]
    (banner,) = re.findall(
        r'<p class="message message--warning answer__differs">(.*?)</p>',
        client.get(scene.run.get_absolute_url()).content.decode(),
        re.DOTALL,
    )
    assert said["headline"] in banner
    assert said["statement"] in banner
    assert banner.count('class="cite"') == 2 * len(sentence["citations"])


def test_it_is_provisional_then_final_then_signed(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client = client_as(cast.analyst)
    item = scene.run.queue_items.order_by("pk").first()
    QueueItem.objects.filter(pk=item.pk).update(state=ItemState.WAITING, is_required=True)
    waiting = told(client, scene.run)
    assert (waiting["state"], item.pk in waiting["waiting"]) == ("provisional", True)
    decide_all(scene.run)
    assert (told(client, scene.run)["state"], told(client, scene.run)["waiting"]) == ("final", [])
    run_sign(
        actor=cast.reviewer,
        run=scene.run,
        password=PASSWORD,
        meaning="reviewed",
        seen_sha256=record_digest(signed_record(scene.run)),
    )
    assert told(client, scene.run)["state"] == "signed"


def test_a_stale_answer_is_no_final_one(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    decide_all(scene.run)
    scene.run.answers.update(is_stale=True)
    stale = told(client_as(cast.analyst), scene.run)
    assert (stale["state"], stale["is_stale"]) == ("provisional", True)
    first = scene.run.answers.get()
    Answer.objects.create(run=scene.run, version=2, body=first.body, evidence_hash="b" * 64)
    anew = told(client_as(cast.analyst), scene.run)
    assert (anew["state"], anew["version"], len(anew["versions"])) == ("final", 2, 2)
    assert [version["is_stale"] for version in anew["versions"]] == [True, False]


def test_a_run_under_way_has_none(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.ARBITRATING)
    Answer.objects.all().delete()
    none = told(client_as(cast.analyst), scene.run)
    assert (none["state"], none["sentences"], none["version"]) == ("none", [], None)


def test_who_must_decide_blind_is_told_nothing_yet(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    item = scene.run.queue_items.filter(candidate=undecided(scene)).get()
    QueueItem.objects.filter(pk=item.pk).update(state=ItemState.WAITING, is_blind=True, is_required=True)
    refused = client_as(cast.reviewer).get(f"/api/v1/runs/{scene.run.pk}/answer/")
    assert (refused.status_code, refused["Content-Type"]) == (409, "application/problem+json")
    assert client_as(cast.outsider).get(f"/api/v1/runs/{scene.run.pk}/answer/").status_code == 404


def test_it_costs_few_queries(
    cast: Cast, client_as: ClientAs, scene: Scene, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client = client_as(cast.analyst)
    told(client, scene.run)
    with django_assert_max_num_queries(14):
        told(client, scene.run)


def test_what_waits_is_named_and_the_answer_is_shown_all_the_same(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    decide_all(scene.run)
    item = scene.run.queue_items.filter(candidate__reviews__isnull=True).first()
    QueueItem.objects.filter(pk=item.pk).update(state=ItemState.WAITING, is_required=True, is_blind=False)
    candidate_unsure(actor=cast.reviewer, candidate=item.candidate)
    client = client_as(cast.analyst)
    answer = told(client, scene.run)
    assert answer["state"] == "provisional"
    assert answer["sentences"]
    (waiting,) = answer["waiting_for"]
    assert (waiting["item"], waiting["candidate"]) == (item.pk, item.candidate_id)
    assert waiting["cannot_tell"] == str(cast.reviewer)
    page = client.get(scene.run.get_absolute_url())
    assert page.context["sentences"]
    note = page.content.decode().split('class="answer__waits', 1)[1].split("</p>", 1)[0]
    assert "Provisional" in note
    assert f'href="#{dom_id_of(item.candidate.candidate_id)}"' in note
    assert f"({cast.reviewer} cannot tell)" in note
    decide_all(scene.run)
    assert "answer__waits" not in client.get(scene.run.get_absolute_url()).content.decode()


def test_who_decides_blind_sees_neither_the_answer_nor_what_waits(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    item = scene.run.queue_items.filter(candidate__reviews__isnull=True).first()
    QueueItem.objects.filter(pk=item.pk).update(state=ItemState.WAITING, is_blind=True, is_required=True)
    page = client_as(cast.reviewer).get(scene.run.get_absolute_url()).content.decode()
    assert "answer__waits" not in page
    assert "answer-title" not in page


def test_a_not_found_names_who_confirmed_it_and_what_came_nearest(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    for candidate in scene.run.candidates.filter(reviews__isnull=False):
        candidate_override(
            actor=cast.reviewer, candidate=candidate, role="discarded", reason_code="wrong_role", comment=""
        )
    Verdict.objects.filter(candidate__run=scene.run).update(role="discarded", needs_person=False)
    Run.objects.filter(pk=scene.run.pk).update(not_found=True, not_found_reason="all_discarded: none")
    decide_all(scene.run)
    scene.run.refresh_from_db()
    not_found_confirm(actor=cast.reviewer, run=scene.run)
    client = client_as(cast.analyst)
    answer = told(client, scene.run)
    assert (answer["not_found"], answer["not_found_confirmed_by"]) == (True, str(cast.reviewer))
    assert 1 <= len(answer["nearest"]) <= 3
    page = client.get(scene.run.get_absolute_url()).content.decode()
    assert f"Not found, confirmed by {cast.reviewer}" in page
    near = page.split('class="answer__nearest"', 1)[1].split("</ul>", 1)[0]
    assert near.count("<li>") == len(answer["nearest"])
    assert all(one["reason"] for one in answer["nearest"])
    searched = scene.run.parsed_question["searched"]
    for one in answer["nearest"]:
        told_words = [Term(word, "en") for word in (*one["holds"], *one["lacks"])]
        assert new_terms(told_words) == told_words
        assert {term.text for term in told_words} <= set(searched)
    assert f"Lacks: {', '.join(answer['nearest'][-1]['lacks'])}." in near


def test_one_of_the_nearest_passages_refutes_a_not_found(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    for candidate in scene.run.candidates.filter(reviews__isnull=False):
        candidate_override(
            actor=cast.reviewer, candidate=candidate, role="discarded", reason_code="wrong_role", comment=""
        )
    Verdict.objects.filter(candidate__run=scene.run).update(role="discarded", needs_person=False)
    Run.objects.filter(pk=scene.run.pk).update(not_found=True, not_found_reason="all_discarded: none")
    client, address = client_as(cast.reviewer), reverse("review:not-found", args=[scene.run.pk])
    page = client.get(scene.run.get_absolute_url()).content.decode()
    key = re.search(r'name="near" value="(\d+)" data-key="5"', page)
    assert key is not None
    assert "all_discarded" not in page
    assert client.post(address, {"near": key[1]}).status_code == 302
    candidate = Candidate.objects.get(pk=key[1])
    assert candidate.reviews.latest("pk").role == "primary"
    word = scene.run.reviews.get(candidate__isnull=True)
    assert (word.action, word.comment) == ("refute_not_found", "policy.txt, page 1, lines 1–3")
    event = AuditEvent.objects.get(action="not_found.refuted")
    assert event.reason == candidate.candidate_id, "the trail names no file"
    elsewhere = client.post(address, {"near": "99999999"})
    assert elsewhere.status_code == 404


def test_the_signing_page_shows_what_is_signed_and_keeps_the_hash_below(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    decide_all(scene.run)
    text = client_as(cast.reviewer).get(reverse("review:sign", args=[scene.run.pk])).content.decode()
    before, details = text.split('<details class="answer__more">', 1)
    assert scene.run.answers.get().body["sentences"][0]["text"].replace("'", "&#x27;") in before
    assert "Your signature puts your name" in before
    digest = record_digest(signed_record(scene.run))
    assert digest not in before
    assert digest in details
