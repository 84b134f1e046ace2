"""The run page: answer, cards by role, tabs, progress."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from decimal import Decimal
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import HTMX, ClientAs
from tests.workbench.review.signed import signed
from tests.workbench.scene import Scene
from workbench.review import cards
from workbench.runs.models import LLMCall, Run, RunStatus, Verdict

ROLES = ["primary", "supporting", "tangential", "discarded"]


def test_cards_stand_by_role_and_each_has_its_reason(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    page = client_as(cast.auditor).get(scene.run.get_absolute_url(), {"all": "1"})
    groups = page.context["groups"]
    roles = [group["role"] for group in groups]
    assert roles == [role for role in ["", *ROLES] if role in roles]
    shown = [card for group in groups for card in group["cards"]]
    assert len(shown) == scene.run.candidates.count()
    text = re.sub(r"\s+", " ", page.content.decode())
    for verdict in Verdict.objects.filter(candidate__run=scene.run):
        assert verdict.reason.replace("'", "&#x27;")[:60] in text


def test_the_discarded_are_folded_into_one_line(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    page = client_as(cast.auditor).get(scene.run.get_absolute_url())
    for group in page.context["groups"]:
        for card in group["cards"]:
            if group["role"] == "discarded":
                assert card["is_brief"]
            if group["role"] in {"primary", "supporting", ""}:
                assert not card["is_brief"]
    discarded = scene.run.candidates.filter(verdict__role="discarded").count()
    assert page.content.decode().count("fold__reason") >= discarded


def test_folded_cards_beyond_the_first_come_when_they_are_wanted(
    cast: Cast, client_as: ClientAs, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cards, "FOLDED_SHOWN", 0)
    monkeypatch.setattr(cards, "_FEW_MORE", 0)
    client, address = client_as(cast.auditor), scene.run.get_absolute_url()

    page = client.get(address)

    group = next(group for group in page.context["groups"] if group["rest"])
    assert not [card for card in group["cards"] if card["is_brief"] and not card["needs_person_reasons"]]
    assert len(group["cards"]) + group["rest"] == group["count"]
    assert f"Show the other {group['rest']}" in page.content.decode()
    fragment = client.get(address, {"rest": group["role"]}, headers=HTMX)
    came = set(re.findall(r'<article[^>]* id="([^"]+)"', fragment.content.decode()))
    assert len(came) == group["rest"]
    assert not came & {card["dom_id"] for card in group["cards"]}
    everything = client.get(address, {"all": "1"})
    assert all(group["rest"] == 0 for group in everything.context["groups"])
    assert all(f'id="{name}"' in everything.content.decode() for name in came)


def test_a_card_that_an_address_names_stands_there_and_comes_only_once(
    cast: Cast, client_as: ClientAs, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cards, "FOLDED_SHOWN", 0)
    monkeypatch.setattr(cards, "_FEW_MORE", 0)
    Verdict.objects.filter(candidate__run=scene.run).update(role="discarded", needs_person=False)
    client, address = client_as(cast.auditor), scene.run.get_absolute_url()
    left = client.get(address).content.decode()
    late = next(row for row in scene.run.candidates.all() if f'id="{cards.dom_id(row)}"' not in left)

    page = client.get(late.get_absolute_url().split("#")[0])

    text, card = page.content.decode(), f'id="{cards.dom_id(late)}"'
    assert text.count(card) == 1
    more = next(unescape(link) for link in re.findall(r'hx-get="([^"]+rest=[^"]+)"', text))
    rest = client.get(more, headers=HTMX).content.decode()
    assert "<article" in rest
    assert card not in rest
    assert client.get(address, {"card": '"><script>'}).content.decode().count("<script>") == 0


def test_a_card_that_the_page_links_to_is_not_left_for_later(
    cast: Cast, client_as: ClientAs, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cards, "FOLDED_SHOWN", 0)
    monkeypatch.setattr(cards, "_FEW_MORE", 0)
    client, address = client_as(cast.auditor), scene.run.get_absolute_url()
    left = client.get(address).content.decode()
    late = next(row for row in scene.run.candidates.all() if f'id="{cards.dom_id(row)}"' not in left)
    shown = next(row for row in scene.run.candidates.all() if f'id="{cards.dom_id(row)}"' in left)
    pair = {"first_id": shown.candidate_id, "second_id": late.candidate_id, "explanation": "They differ."}
    Run.objects.filter(pk=scene.run.pk).update(conflicts=[pair])

    text = client.get(address).content.decode()

    assert f'href="#{cards.dom_id(late)}"' in text
    assert f'id="{cards.dom_id(late)}"' in text


def test_what_needs_a_person_is_never_left_for_later(
    cast: Cast, client_as: ClientAs, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cards, "FOLDED_SHOWN", 0)
    monkeypatch.setattr(cards, "_FEW_MORE", 0)
    discarded = scene.run.candidates.filter(verdict__role="discarded").first()
    Verdict.objects.filter(candidate=discarded).update(needs_person=True)

    page = client_as(cast.auditor).get(scene.run.get_absolute_url())

    assert f'id="{cards.dom_id(discarded)}"' in page.content.decode()


def test_the_answer_cites_cards_that_are_there(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    page = client_as(cast.analyst).get(scene.run.get_absolute_url())
    html = page.content.decode()
    cites = re.findall(r'class="cite" href="#([^"]+)"', html)
    assert cites
    for dom_id in cites:
        assert f'id="{dom_id}"' in html
    shown = page.context["sentences"] + page.context["more_sentences"]
    assert len(shown) == len(scene.run.answers.last().body["sentences"])


def test_only_reviewers_see_decision_forms(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    approve = scene.run.candidates.filter(verdict__role__isnull=False, reviews__isnull=True)[0]
    address = reverse("review:approve", args=[approve.pk])
    for name, user in cast.members.items():
        page = client_as(user).get(scene.run.get_absolute_url()).content.decode()
        assert (address in page) is (name in {"reviewer", "second_reviewer"}), name
        assert ("to decide" in page) is (name in {"reviewer", "second_reviewer"})


def test_a_signed_run_takes_no_decisions(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    signed(scene.run)
    assert "/approve/" not in client_as(cast.reviewer).get(scene.run.get_absolute_url()).content.decode()


@pytest.mark.parametrize(
    ("tab", "shows"),
    [
        ("provenance", "Ranks and scores"),
        ("calls", "No language model was asked"),
        ("history", "verdict.approved"),
        ("json", "provenances"),
        ("nonsense", "data-card"),
    ],
)
def test_tabs(tab: str, shows: str, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    page = client_as(cast.auditor).get(scene.run.get_absolute_url(), {"tab": tab})
    assert shows in page.content.decode()


def test_the_record_is_the_audit_format(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    from arbitration.contracts import AuditedRetrievalResult, RetrievalResult

    answer = client_as(cast.auditor).get(reverse("questions:record", args=[scene.run.pk]))
    record = json.loads(answer.content)
    assert RetrievalResult.model_validate(record["result"]).question == scene.run.question.text
    audit = AuditedRetrievalResult.model_validate(record["audit"])
    assert len(audit.candidates) == scene.run.candidates.count()
    assert answer["Content-Disposition"].startswith("attachment")


def test_a_run_on_its_way_polls_and_stops_when_it_ends(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client, address = client_as(cast.analyst), scene.run.get_absolute_url()
    Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.ARBITRATING)
    going = client.get(address, headers=HTMX).content.decode()
    assert "<html" not in going
    assert 'hx-trigger="every 1s"' in going
    assert "Candidates built" in going
    assert "data-card" not in going
    Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.DONE)
    ended = client.get(address, headers=HTMX).content.decode()
    assert "every 1s" not in ended
    assert "data-card" in ended


def test_a_run_on_its_way_says_how_long_each_stage_takes_and_what_models_cost_so_far(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    now = timezone.now()
    stages = [
        {
            "stage": "detect",
            "ms": 310.0,
            "detail": "bm25: 4",
            "ended_at": (now - timedelta(seconds=7)).isoformat(),
        }
    ]
    Run.objects.filter(pk=scene.run.pk).update(
        status=RunStatus.ARBITRATING,
        elapsed_ms=None,
        finished_at=None,
        created_at=now - timedelta(seconds=9),
        stages=stages,
    )
    scene.run.llm_calls.all().delete()
    client, address = client_as(cast.analyst), scene.run.get_absolute_url()
    client.get(address, headers=HTMX)
    with CaptureQueriesContext(connection) as queries:
        asked_none = client.get(address, headers=HTMX)
    assert len([query for query in queries if "questions_llmcall" in query["sql"]]) == 1
    progress = asked_none.context["progress"]
    assert progress["spent"] == ""
    assert 9 <= progress["elapsed_s"] < 60
    done, current = progress["stages"]
    assert (done["elapsed_s"], done["state"]) == (0.31, "done")
    assert 7 <= current["elapsed_s"] < 58
    assert asked_none.content.decode().count("data-elapsed=") == 2, "the whole and the current stage tick"

    for cost in ("0.0012", "0.0030"):
        LLMCall.objects.create(
            run=scene.run,
            collection=scene.run.collection,
            stage="arbitrate",
            attempt=1,
            outcome="ok",
            cost=Decimal(cost),
        )
    assert "2 model calls, 0.0042 USD" in client.get(address, headers=HTMX).content.decode()

    Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.FAILED, failure_reason="No.", finished_at=now)
    failed = client.get(address).context["progress"]
    assert failed["spent"] == "2 model calls, 0.0042 USD"
    assert failed["elapsed_s"] == pytest.approx(9)


def test_a_run_that_is_done_asks_the_ledger_nothing(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client, address = client_as(cast.analyst), scene.run.get_absolute_url()
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
    assert not [query for query in queries if "questions_llmcall" in query["sql"]]


def test_fragments_and_pages_are_told_apart_by_caches(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    assert "HX-Request" in client_as(cast.analyst).get(scene.run.get_absolute_url())["Vary"]


def test_a_failed_run_says_why(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    Run.objects.filter(pk=scene.run.pk).update(
        status=RunStatus.FAILED, failure_reason="The endpoint did not answer. Ask again later."
    )
    page = client_as(cast.analyst).get(scene.run.get_absolute_url()).content.decode()
    assert "The endpoint did not answer. Ask again later." in page


def test_conflicts_point_at_both_cards(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    first, second = scene.run.candidates.values_list("candidate_id", flat=True)[:2]
    Run.objects.filter(pk=scene.run.pk).update(
        conflicts=[{"first_id": first, "second_id": second, "explanation": "Two periods for one record."}]
    )
    page = client_as(cast.auditor).get(scene.run.get_absolute_url()).content.decode()
    assert "Two periods for one record." in page
    assert f'href="#c-{first}"' in page
    assert f'href="#c-{second}"' in page
