"""The models' pages: who may do what, what they say, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.rerankers.makers import World, retrained, truths
from tests.workbench.scene import make_run
from training.labels import LabelSource
from workbench.accounts.models import User
from workbench.rerankers.aliases import alias_version
from workbench.rerankers.models import AliasName, ModelAlias, ShadowScore, TrainingRun
from workbench.rerankers.services import schedule_current
from workbench.rerankers.shadow import run_shadow
from workbench.runs.models import Verdict

ClientAs = Callable[[User | None], Client]
MOST_QUERIES = 15
#: Beside those, to say what gold is missing: of the models' page, which labels, retractions and trainings were last,
#: what the gate demands, the questions in their order, those of gold sets, gold, and what was trained on; then labels
#: that train nothing and the encoder that says so. The second look finds all but the first four in the cache.
FOR_GOLD = {"models": 10, "plan": 3}


@pytest.fixture
def deployed(gold: World, system: User) -> TrainingRun:
    gold.label(truths(range(60)))
    return retrained(system)


def test_admins_trigger_and_others_do_not(cast: Cast, client_as: ClientAs, world: World) -> None:
    for name in ("analyst", "reviewer", "annotator", "auditor"):
        response = client_as(getattr(cast, name)).post(reverse("models:start"), follow=True)
        assert "Only admins" in response.content.decode()
    assert not TrainingRun.objects.exists()

    response = client_as(cast.admin).post(reverse("models:start"))

    run = TrainingRun.objects.get()
    assert response["Location"] == run.get_absolute_url()
    again = client_as(cast.admin).post(reverse("models:start"), follow=True)
    assert "running already" in again.content.decode()


def test_somebody_without_a_collection_reads_nothing(client_as: ClientAs, world: World) -> None:
    nobody = User.objects.create_user("nobody@example.org", "x" * 20, name="Nobody")

    assert client_as(nobody).get(reverse("models:models")).status_code == 403


@pytest.mark.parametrize("page", ["models", "version", "training", "plan", "drift", "label"])
def test_pages_show_what_happened_in_few_queries(
    page: str, cast: Cast, client_as: ClientAs, deployed: TrainingRun
) -> None:
    version = deployed.challenger
    label = deployed.snapshot.labels.first().label
    arguments = {"version": [version.number], "training": [deployed.pk], "label": [label.pk]}
    client = client_as(cast.admin)

    with CaptureQueriesContext(connection) as captured:
        response = client.get(reverse(f"models:{page}", args=arguments.get(page, [])))

    body = response.content.decode()
    assert response.status_code == 200
    expected = {
        "models": "F1 rises",
        "version": "Reliability",
        "training": "Both on the same rows",
        "plan": "Enough to compare",
        "drift": "overruled",
        "label": version.name,
    }
    assert expected[page] in body
    queries = [q["sql"] for q in captured if "SAVEPOINT" not in q["sql"] and "pg_advisory" not in q["sql"]]
    assert len(queries) <= MOST_QUERIES + FOR_GOLD.get(page, 0), "\n".join(query[:160] for query in queries)
    with CaptureQueriesContext(connection) as again:
        client.get(reverse(f"models:{page}", args=arguments.get(page, [])))
    if page == "models":
        assert len(again) <= MOST_QUERIES + 6


def test_the_page_tells_a_damaged_champion_and_loads_none(
    cast: Cast, client_as: ClientAs, deployed: TrainingRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """scikit-learn takes a web process seconds and a good part of its memory."""

    def load(version: object) -> None:
        raise AssertionError("a page loaded a model")

    monkeypatch.setattr("workbench.rerankers.champion.model_load", load)
    champion = alias_version()
    assert champion is not None
    told = "cannot be loaded here"
    assert told not in client_as(cast.admin).get(reverse("models:models")).content.decode()
    (tmp_path / "files" / "models" / champion.digest / "model.skops").write_bytes(b"something else")
    assert told in client_as(cast.admin).get(reverse("models:models")).content.decode()


def test_an_auditor_reads_and_finds_no_button(cast: Cast, client_as: ClientAs, deployed: TrainingRun) -> None:
    body = client_as(cast.auditor).get(reverse("models:models")).content.decode()

    assert deployed.challenger.name in body
    assert "Retrain now" not in body


def test_a_verdict_names_its_model_and_links_to_the_card(
    cast: Cast, client_as: ClientAs, deployed: TrainingRun, world: World
) -> None:
    run = make_run(asker=cast.analyst, document=world.document)

    verdict = Verdict.objects.filter(candidate__run=run).first()
    assert verdict.decided_by_kind in ("mlp", "logistic"), "whichever of them won"
    assert verdict.decided_by_version == deployed.challenger.name
    body = client_as(cast.reviewer).get(run.get_absolute_url()).content.decode()
    assert deployed.challenger.get_absolute_url() in body


def test_a_new_champion_answers_anew_and_a_former_one_from_its_own_cache(
    cast: Cast, client_as: ClientAs, gold: World, system: User
) -> None:
    from workbench.runs.services import question_ask

    pairs = truths(range(80))
    gold.label(pairs, flip=range(0, len(pairs), 9))
    first = retrained(system)
    assert first.decision.outcome == "deployed"
    asked = make_run(asker=cast.analyst, document=gold.document)
    gold.label(pairs, source=LabelSource.ADJUDICATED)
    second = retrained(system)
    assert second.decision.outcome == "deployed"

    def ask() -> object:
        return question_ask(
            actor=cast.analyst,
            collection=gold.collection,
            document=gold.document,
            text=asked.question.text,
            strategy="offline",
        )

    assert not ask().is_cached
    page = client_as(cast.staff).post(
        reverse("models:roll-back", args=[first.challenger.number]), {"reason": "It was better."}, follow=True
    )
    assert "serves again" in page.content.decode()
    assert alias_version() == first.challenger
    back = ask()
    assert back.is_cached
    assert back.run == asked


def test_a_rollback_needs_a_reason(cast: Cast, client_as: ClientAs, deployed: TrainingRun) -> None:
    response = client_as(cast.staff).post(
        reverse("models:roll-back", args=[deployed.challenger.number]), {"reason": ""}
    )

    assert response.status_code == 422


def test_a_refused_challenger_scores_in_shadow_without_deciding(
    cast: Cast, client_as: ClientAs, gold: World, system: User
) -> None:
    pairs = truths(range(60))
    gold.label(pairs)
    champion = retrained(system).challenger
    gold.label(pairs, source=LabelSource.ADJUDICATED, flip=range(0, len(pairs), 2))
    refused = retrained(system).challenger

    client_as(cast.staff).post(reverse("models:shadow", args=[refused.number]))
    run = make_run(asker=cast.analyst, document=gold.document)

    assert run_shadow(run_id=run.pk) == run.candidates.count() > 0
    assert run_shadow(run_id=run.pk) == run.candidates.count()
    assert ShadowScore.objects.count() == run.candidates.count()
    assert {v.decided_by_version for v in Verdict.objects.filter(candidate__run=run)} == {champion.name}
    body = client_as(cast.auditor).get(refused.get_absolute_url()).content.decode()
    assert "live candidates scored" in body
    client_as(cast.staff).post(reverse("models:shadow", args=[refused.number]), {"end": "1"})
    assert not ModelAlias.objects.filter(name=AliasName.SHADOW).exists()


def test_an_admin_sets_the_schedule(cast: Cast, client_as: ClientAs, world: World) -> None:
    values = {
        "is_on": "on",
        "day": 15,
        "hour": 4,
        "min_new_labels": 7,
        "min_positives": 10,
        "min_negatives": 10,
        "min_questions": 5,
    }
    assert client_as(cast.staff).post(reverse("models:schedule"), values).status_code == 302
    schedule = schedule_current()
    assert (schedule.day, schedule.hour, schedule.min_new_labels) == (15, 4, 7)

    refused = client_as(cast.staff).post(reverse("models:schedule"), {**values, "day": 31})
    assert refused.status_code == 422
    client_as(cast.auditor).post(reverse("models:schedule"), {**values, "day": 2})
    assert schedule_current().day == 15


def test_a_running_training_is_polled_and_an_ended_one_reloads_the_page(
    cast: Cast, client_as: ClientAs, deployed: TrainingRun
) -> None:
    client = client_as(cast.auditor)
    ended = client.get(reverse("models:progress", args=[deployed.pk]))
    assert ended["HX-Refresh"] == "true"
    assert 'data-progress="ready"' in ended.content.decode()

    client_as(cast.admin).post(reverse("models:start"))
    run = TrainingRun.objects.order_by("-pk").first()
    waiting = client.get(reverse("models:progress", args=[run.pk]))
    assert "every 2s" in waiting.content.decode()
    client_as(cast.admin).post(reverse("models:cancel", args=[run.pk]))
    stopped = client.get(reverse("models:progress", args=[run.pk]))
    assert 'data-progress="cancelled"' in stopped.content.decode()
