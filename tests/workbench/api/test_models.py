"""Models, trainings, the schedule and drift by the API: what the Models page shows and does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client

from tests.workbench.cast import PASSWORD, Cast
from tests.workbench.pages.conftest import queries_of
from tests.workbench.rerankers.conftest import gold, system, world
from tests.workbench.rerankers.makers import World, any_model, any_training, retrained, truths
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.api.tokens import token_create
from workbench.audit.models import AuditEvent
from workbench.labeling.models import Label
from workbench.rerankers.aliases import alias_version
from workbench.rerankers.models import AliasName, ModelAlias, ModelVersion, ShadowScore, TrainingRun
from workbench.rerankers.services import schedule_current

__all__ = ["gold", "system", "world"]

ClientAs = Callable[[User | None], Client]
API = "/api/v1"
SCHEDULE: dict[str, Any] = {
    "is_on": True, "day": 15, "hour": 4, "min_new_labels": 7, "min_positives": 10, "min_negatives": 10,
    "min_questions": 5, "interval_excludes_zero": True,
}  # fmt: skip


def post(client: Client, path: str, body: dict[str, Any] | None = None, **headers: str) -> Any:
    return client.post(f"{API}{path}", body or {}, content_type="application/json", headers=headers)


def get(client: Client, path: str, **query: Any) -> Any:
    return client.get(f"{API}{path}", query).json()


def another_model(number: int) -> ModelVersion:
    """One that came with an earlier release; no file."""
    first = any_model()
    return ModelVersion.objects.create(
        number=number,
        digest=f"{number:012}",
        origin="seed",
        architecture="logistic",
        feature_version=first.feature_version,
        threshold=0.5,
        manifest=first.manifest,
    )


@pytest.fixture
def loadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of these models have no files; they are taken as whole."""
    monkeypatch.setattr("workbench.rerankers.champion.model_load", lambda version: None)


class TestALearningInstallation:
    """One whole training, read by everything there is to read."""

    @pytest.fixture
    def deployed(self, gold: World, system: User) -> TrainingRun:
        gold.label(truths(range(60)))
        return retrained(system)

    def test_what_is_on_record_of_it(
        self, cast: Cast, client_as: ClientAs, deployed: TrainingRun, gold: World
    ) -> None:
        client, number = client_as(cast.auditor), deployed.challenger.number

        training = get(client, f"/trainings/{deployed.pk}/")
        assert (training["state"], training["trigger"], training["challenger"]) == ("done", "command", number)
        assert [stage["stage"] for stage in training["stages"]] == ["collecting", "training", "judging"]
        rows = deployed.snapshot.rows
        assert training["training_set"]["rows"] == rows > 200
        decision = training["decision"]
        assert (decision["outcome"], decision["challenger"], decision["champion"]) == (
            "deployed",
            number,
            None,
        )
        assert decision["challenger_figures"]["f1"] > decision["champion_figures"]["f1"]
        assert decision["gain"]["low"] > 0
        assert decision["reasons"]
        assert get(client, "/trainings/")["results"] == [training]
        assert get(client, "/trainings/", state="failed")["results"] == []

        assert get(client, "/models/serving/") == {"champion": number, "is_refused": False, "shadow": None}
        (move,) = get(client, "/model-moves/", model=number, alias="champion")["results"]
        assert (move["kind"], move["training"], move["before"]) == ("deployed", deployed.pk, None)
        assert get(client, "/model-moves/", alias="shadow")["results"] == []

        (listed,) = get(client, "/models/")["results"]
        assert (listed["number"], listed["places"], listed["overturned_labels"]) == (number, ["champion"], 0)
        shown = get(client, f"/models/{number}/")
        card = shown.pop("card")
        assert shown == listed
        assert card["is_on_gold"]
        assert card["report"]["figures"] == decision["challenger_figures"]
        assert card["report"]["curve"]
        assert card["report"]["reliability"]
        assert card["by_collection"][0]["collection"] == "alpha"
        assert card["labels"] == {"labels": rows, "overturned": 0, "withdrawn": 0}
        assert card["decisions"] == [decision]
        assert (card["in_shadow"], card["seed"]) == (None, None)

        plan = get(client, "/trainings/plan/")
        assert (plan["rows"], plan["gold_questions"], plan["has_enough_gold"]) == (rows, 40, True)

        self.lineage(client, client_as(cast.outsider), number)
        self.few_queries(client, deployed)

    def lineage(self, client: Client, outsider: Client, number: int) -> None:
        """From a model to its labels and back; nobody else's."""
        labels = get(client, f"/models/{number}/labels/", page_size=200)
        assert len(labels["results"]) == 200
        assert labels["next"]
        first = labels["results"][0]
        assert (first["collection"], first["overturned_at"]) == ("alpha", None)
        assert get(client, f"/models/{number}/labels/", overturned="true")["results"] == []
        assert client.get(f"{API}/models/{number}/labels/", {"overturned": "maybe"}).status_code == 400
        learned = get(client, "/models/", label=first["label"])["results"]
        assert [row["number"] for row in learned] == [number]
        held_out = Label.objects.filter(label_import__isnull=False).first()
        assert held_out is not None
        assert get(client, "/models/", label=held_out.pk)["results"] == []

        assert get(outsider, f"/models/{number}/labels/")["results"] == []
        assert get(outsider, f"/models/{number}/")["card"]["by_collection"] == []
        assert outsider.get(f"{API}/models/", {"label": first["label"]}).status_code == 404

    def few_queries(self, client: Client, deployed: TrainingRun) -> None:
        number = deployed.challenger.number
        paths = ("/models/", f"/models/{number}/", f"/models/{number}/labels/", "/models/serving/",
                 "/trainings/", f"/trainings/{deployed.pk}/", "/trainings/plan/", "/model-moves/")  # fmt: skip
        counted = {path: queries_of(client, f"{API}{path}") for path in paths}
        # A plan also looks for labels that train nothing, and says what gold is missing.
        assert counted.pop("/trainings/plan/") <= 17, counted
        assert max(counted.values()) <= 15, counted


def test_the_model_that_ships_tells_where_it_comes_from(
    world: World, cast: Cast, client_as: ClientAs, settings: Any
) -> None:
    settings.SEED_MODEL = True
    client = client_as(cast.analyst)
    assert get(client, "/models/serving/") == {"champion": 1, "is_refused": False, "shadow": None}
    shown = get(client, "/models/1/")
    assert (shown["origin"], shown["training_set"], shown["places"]) == ("seed", None, ["champion"])
    card = shown["card"]
    assert card["seed"]["serves"]
    assert any("CUAD" in licence for licence in card["seed"]["licences"])
    assert set(card["seed"]["held_out_documents"]["contractnli"]) >= {
        "model",
        "rules",
        "semantic",
        "questions",
    }
    assert (card["is_on_gold"], card["by_collection"]) == (False, [])
    assert card["report"]["figures"]["f1"] > 0
    assert len(card["features"]) == len(set(card["features"])) > 10


def test_what_a_model_said_in_shadow_is_compared(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    """The scene's reviewer approved one card."""
    decided = scene.run.reviews.get(label__isnull=False)
    evidence = decided.role in {"primary", "supporting"}
    ShadowScore.objects.create(
        version=any_model(),
        candidate=decided.candidate,
        probability=0.1 if evidence else 0.9,
        champion_probability=0.9 if evidence else 0.1,
    )
    shown = get(client_as(cast.auditor), "/models/1/")["card"]["in_shadow"]
    assert shown.pop("distance") == pytest.approx(0.8)
    assert shown == {
        "candidates": 1, "compared": 1, "differ": 1, "judged": 1, "right": 0, "champion_right": 1
    }  # fmt: skip


class TestTrainings:
    def test_an_admin_starts_and_stops_one(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.admin)
        started = post(client, "/trainings/")
        assert started.status_code == 202
        run = TrainingRun.objects.get()
        assert (started.json()["id"], started.json()["state"]) == (run.pk, "queued")
        assert started.json()["requested_by"] == cast.admin.name
        again = post(client, "/trainings/")
        assert (again.status_code, again.json()["code"]) == (409, "training_running")

        stopped = post(client, f"/trainings/{run.pk}/cancel/")
        assert (stopped.status_code, stopped.json()["state"]) == (200, "cancelled")
        assert post(client, f"/trainings/{run.pk}/cancel/").status_code == 409
        actions = AuditEvent.objects.filter(action__startswith="training.").order_by("id")
        assert list(actions.values_list("action", flat=True)) == ["training.requested", "training.cancelled"]

    @pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator", "auditor"])
    def test_nobody_else_does(self, name: str, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(getattr(cast, name))
        assert post(client, "/trainings/").status_code == 403
        assert not TrainingRun.objects.exists()
        run = any_training()
        assert post(client, f"/trainings/{run.pk}/cancel/").status_code == 403
        run.refresh_from_db()
        assert run.is_active

    def test_a_repeated_request_starts_one(self, cast: Cast, client_as: ClientAs) -> None:
        client, key = client_as(cast.admin), {"Idempotency-Key": "k1"}
        first, second = (post(client, "/trainings/", **key) for _ in range(2))
        assert (first.status_code, second.status_code) == (202, 202)
        assert second["Idempotency-Replayed"] == "true"
        assert TrainingRun.objects.count() == 1

    def test_a_token_needs_the_scope(self, cast: Cast, client_as: ClientAs) -> None:
        for scopes, status in ((["view"], 403), (["view", "manage"], 202)):
            _token, key = token_create(actor=cast.admin, name="robot", scopes=scopes, days=1)
            answer = post(client_as(None), "/trainings/", Authorization=f"Bearer {key}")
            assert answer.status_code == status

    def test_a_failed_one_says_why_and_an_unknown_one_does_not_exist(
        self, cast: Cast, client_as: ClientAs
    ) -> None:
        from workbench.rerankers.failing import training_fail

        run, client = any_training(), client_as(cast.analyst)
        training_fail(run_id=run.pk, reason="The worker is gone.")
        shown = get(client, f"/trainings/{run.pk}/")
        assert (shown["state"], shown["failure_reason"]) == ("failed", "The worker is gone.")
        assert (shown["decision"], shown["training_set"], shown["challenger"]) == (None, None, None)
        for number in (run.pk + 1, "9" * 18):
            assert client.get(f"{API}/trainings/{number}/").status_code == 404
            assert client.get(f"{API}/models/{number}/").status_code == 404
        assert client.get(f"{API}/trainings/", {"state": "lost"}).json()["errors"].keys() == {"state"}


class TestMoving:
    def test_an_administrator_rolls_back(
        self, cast: Cast, client_as: ClientAs, loadable: None, settings: Any
    ) -> None:
        settings.SEED_MODEL = True  # these models name no training
        former, now = any_model(), another_model(2)
        ModelVersion.objects.update(passed_at=Now())
        ModelAlias.objects.create(name=AliasName.CHAMPION, version=now)
        client = client_as(cast.staff)

        assert post(client, "/models/1/roll-back/", {"reason": " "}).json()["errors"].keys() == {"reason"}
        assert post(client, "/models/9/roll-back/", {"reason": "Worse."}).status_code == 404
        assert post(client, "/models/2/roll-back/", {"reason": "Worse."}).status_code == 409
        answer = post(client, "/models/1/roll-back/", {"reason": "Worse."})
        assert (answer.status_code, answer.json()["champion"]) == (200, 1)
        assert alias_version() == former
        (move,) = get(client, "/model-moves/")["results"]
        assert (move["kind"], move["model"], move["before"]) == ("rolled_back", 1, 2)
        assert (move["reason"], move["moved_by"]) == ("Worse.", cast.staff.name)

    def test_a_model_that_ships_no_more_cannot_serve(
        self, cast: Cast, client_as: ClientAs, loadable: None
    ) -> None:
        any_model()
        ModelVersion.objects.update(passed_at=Now())
        client = client_as(cast.staff)
        answer = post(client, "/models/1/roll-back/", {"reason": "Worse."})
        assert (answer.status_code, answer.json()["code"]) == (400, "withdrawn")
        assert alias_version() is None

    def test_one_that_never_passed_cannot_serve(
        self, cast: Cast, client_as: ClientAs, loadable: None
    ) -> None:
        any_model()
        answer = post(client_as(cast.staff), "/models/1/roll-back/", {"reason": "Worse."})
        assert (answer.status_code, answer.json()["code"]) == (400, "never_passed")

    def test_a_damaged_one_is_refused(self, cast: Cast, client_as: ClientAs) -> None:
        any_model()
        answer = post(client_as(cast.staff), "/models/1/shadow/")
        assert (answer.status_code, answer.json()["code"]) == (400, "artifact_refused")

    def test_into_the_shadow_and_out_of_it(self, cast: Cast, client_as: ClientAs, loadable: None) -> None:
        any_model()
        client = client_as(cast.staff)
        assert post(client, "/models/1/shadow/").json()["shadow"] == 1
        assert get(client, "/models/1/")["places"] == ["shadow"]
        assert post(client, "/models/end-shadow/").json()["shadow"] is None
        kinds = [row["kind"] for row in get(client, "/model-moves/", alias="shadow")["results"]]
        assert kinds == ["ended", "shadowed"]

    @pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator", "admin", "auditor"])
    def test_nobody_else_moves_anything(
        self, name: str, cast: Cast, client_as: ClientAs, loadable: None
    ) -> None:
        any_model()
        client = client_as(getattr(cast, name))
        acts = ("/models/1/roll-back/", "/models/1/shadow/", "/models/end-shadow/")
        assert {post(client, path, {"reason": "x"}).status_code for path in acts} == {403}
        assert post(client, "/training-schedule/", SCHEDULE).status_code == 403
        assert not ModelAlias.objects.exists()
        assert schedule_current().day == 1

    def test_no_token_carries_it(self, cast: Cast, client_as: ClientAs, loadable: None) -> None:
        any_model()
        _token, key = token_create(actor=cast.staff, name="robot", scopes=["view", "manage"], days=1)
        answer = post(client_as(None), "/models/1/shadow/", Authorization=f"Bearer {key}")
        assert answer.status_code == 403
        assert not ModelAlias.objects.exists()

    def test_a_session_of_this_morning_shows_again_who_it_is(
        self, cast: Cast, client_as: ClientAs, loadable: None, settings: Any
    ) -> None:
        settings.ASKS_AGAIN = True
        any_model()
        client = client_as(cast.staff)
        acts = [("/models/1/roll-back/", {"reason": "x"}), ("/models/1/shadow/", {}),
                ("/models/end-shadow/", {}), ("/training-schedule/", SCHEDULE)]  # fmt: skip
        for path, body in acts:
            assert post(client, path, body).json()["code"] == "reauthentication_required", path
        assert client.get(f"{API}/training-schedule/").status_code == 200
        client.post("/accounts/reauthenticate/", {"password": PASSWORD})
        assert post(client, "/models/1/shadow/").status_code == 200


def test_a_longer_list_costs_no_query_more(cast: Cast, client_as: ClientAs, loadable: None) -> None:
    any_model()
    run = any_training()
    client = client_as(cast.staff)
    assert post(client, "/models/1/shadow/").status_code == 200
    paths = [f"{API}/models/", f"{API}/trainings/", f"{API}/model-moves/"]
    few = [queries_of(client, path) for path in paths]
    TrainingRun.objects.filter(pk=run.pk).update(state="cancelled", finished_at=Now())
    for number in range(2, 7):
        another_model(number)
        assert post(client, f"/models/{number}/shadow/").status_code == 200
        TrainingRun.objects.create(
            trigger="person", requested_by=cast.admin, state="cancelled", finished_at=Now()
        )
    assert [len(get(client, path.removeprefix(API))["results"]) for path in paths] == [6, 6, 6]
    assert [queries_of(client, path) for path in paths] == few


class TestSchedule:
    def test_it_is_read_and_set_whole(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.staff)
        before = get(client_as(cast.analyst), "/training-schedule/")
        assert (before["is_on"], before["day"], before["new_labels"]) == (True, 1, 0)
        assert before["next_due"]

        changed = post(client, "/training-schedule/", SCHEDULE).json()
        assert {name: changed[name] for name in SCHEDULE} == SCHEDULE
        assert changed["next_due"].startswith(("2", "3"))
        assert changed["next_due"][8:13] == "15T04"
        assert schedule_current().interval_excludes_zero
        off = post(client, "/training-schedule/", SCHEDULE | {"is_on": False}).json()
        assert (off["is_on"], off["next_due"]) == (False, None)
        assert AuditEvent.objects.filter(action="training.schedule_changed").count() == 2

    @pytest.mark.parametrize(
        ("name", "value"),
        [("day", 31), ("day", 0), ("hour", 24), ("min_positives", 0), ("min_new_labels", -1), ("is_on", "x")],
    )
    def test_nonsense_is_refused(self, name: str, value: Any, cast: Cast, client_as: ClientAs) -> None:
        answer = post(client_as(cast.staff), "/training-schedule/", SCHEDULE | {name: value})
        assert (answer.status_code, list(answer.json()["errors"])) == (400, [name])
        assert schedule_current().day == 1

    def test_what_is_left_out_is_not_guessed(self, cast: Cast, client_as: ClientAs) -> None:
        answer = post(client_as(cast.staff), "/training-schedule/", {"day": 2})
        assert set(answer.json()["errors"]) == set(SCHEDULE) - {"day"}


class TestReaders:
    def test_members_of_any_collection_read(self, cast: Cast, client_as: ClientAs) -> None:
        nobody = User.objects.create_user("nobody@example.org", "x" * 20, name="Nobody")
        paths = ("/models/", "/models/serving/", "/model-moves/", "/trainings/", "/trainings/plan/",
                 "/training-schedule/", "/drift/")  # fmt: skip
        for person, status in ((cast.outsider, 200), (cast.staff, 200), (nobody, 403), (None, 401)):
            client = client_as(person)
            assert {client.get(f"{API}{path}").status_code for path in paths} == {status}

    def test_drift_is_of_ones_own_collections(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        shown = get(client_as(cast.auditor), "/drift/")
        assert (shown["overall"]["overridden"], shown["overall"]["decided"]) == (0, 1)
        assert shown["overall"]["level"] == "few"
        assert [row["name"] for row in shown["by_collection"]] == ["Alpha"]
        assert shown["by_month"][0]["figure"]["decided"] == 1
        empty = get(client_as(cast.outsider), "/drift/")
        assert (empty["overall"]["decided"], empty["by_collection"]) == (0, [])
        assert queries_of(client_as(cast.auditor), f"{API}/drift/") <= 6
