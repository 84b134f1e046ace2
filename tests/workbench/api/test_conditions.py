"""What all addresses of the API have in common: where things are made, which version was read, what a list takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from openapi_schema_validator import OAS30Validator

from tests.workbench.cast import Cast
from tests.workbench.scene import Scene
from workbench.accounts.models import Membership, User
from workbench.api.examples import REQUESTS
from workbench.infra import streams
from workbench.review.models import ItemStage, QueueItem
from workbench.review.second import second_review_add
from workbench.review.services import candidate_choose
from workbench.runs.models import Run, RunStatus

ClientAs = Callable[[User | None], Client]
JSON = "application/json"
ROOT = Path(__file__).resolve().parents[3]


def post(client: Client, path: str, body: Any = None, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post(f"/api/v1/{path}", json.dumps(body or {}), content_type=JSON, headers=named)


def get(client: Client, path: str, **headers: str) -> Any:
    return client.get(
        f"/api/v1/{path}", headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


DESCRIBED = {"document_type": "policy", "tags": ["records"]}


class TestVersions:
    def test_of_two_who_saw_the_same_the_second_is_refused(
        self, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        client, path = client_as(cast.admin), f"documents/{scene.document.pk}/"
        seen = get(client, path)["ETag"]
        first = post(client, f"{path}describe/", DESCRIBED, If_Match=seen)
        second = post(client, f"{path}describe/", {"document_type": "contract"}, If_Match=seen)

        assert first.status_code == 200
        assert (second.status_code, second["Content-Type"]) == (412, "application/problem+json")
        assert second.json()["code"] == "changed_since"
        now = get(client, path)
        assert (now.json()["document_type"], now["ETag"] == seen) == ("policy", False)
        assert post(client, f"{path}describe/", DESCRIBED, If_Match=f"W/{now['ETag']}").status_code == 200
        assert post(client, f"{path}describe/", {"document_type": "note"}).status_code == 200, (
            "it is optional"
        )

    def test_settings_are_compared_with_what_the_same_address_reads(
        self, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        client, path = client_as(cast.admin), "collections/alpha/settings/"
        read = get(client, path)
        changed = read.json() | {"description": "Other words."}
        assert post(client, path, changed, If_Match='"of another day"').status_code == 412
        assert post(client, path, changed, If_Match=read["ETag"]).status_code == 200
        assert post(client, path, changed, If_Match="*").status_code == 200

    def test_what_has_no_version_cannot_be_compared(
        self, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        made = {"collection": "alpha", "term": "log", "variant": "record"}
        assert post(client_as(cast.admin), "vocabulary/", made, If_Match="*").status_code == 412

    def test_the_version_one_has_is_not_sent_again(
        self, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        client, path = client_as(cast.analyst), f"runs/{scene.run.pk}/"
        tag = get(client, path)["ETag"]
        again = get(client, path, If_None_Match=tag)
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag)
        assert get(client, path, If_None_Match="*").status_code == 304
        assert get(client, path, If_None_Match='"other"').status_code == 200
        assert "ETag" not in get(client, "runs/")

    def test_a_tag_tells_nothing_that_is_hidden(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        """The first reviewer's decision leaves the second's tags alone, and changes those of who may see it."""
        item = QueueItem.objects.filter(run=scene.run, state="waiting").first()
        assert item is not None
        assert item.candidate is not None
        QueueItem.objects.filter(pk=item.pk).update(is_blind=True, needs_second=True)
        paths = [f"candidates/{item.candidate_id}/", f"runs/{scene.run.pk}/"]
        blind, seeing = client_as(cast.second_reviewer), client_as(cast.auditor)
        before = [get(blind, path)["ETag"] for path in paths]
        shown = get(seeing, paths[0])["ETag"]

        candidate_choose(actor=cast.reviewer, candidate=item.candidate, role="supporting", comment="Hidden.")
        item.refresh_from_db()
        assert item.stage == ItemStage.SECOND

        assert [get(blind, path)["ETag"] for path in paths] == before
        assert get(seeing, paths[0])["ETag"] != shown
        second_review_add(actor=cast.second_reviewer, candidate=item.candidate, role="supporting", comment="")
        assert get(blind, paths[0])["ETag"] != before[0]


class TestLocation:
    def test_what_was_made_is_read_where_the_answer_says(
        self, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        client = client_as(cast.analyst)
        asked = {"collection": "alpha", "text": "Who keeps payment records?", "strategy": "offline"}
        made = [
            post(client, "collections/", {"name": "Mine"}),
            post(client, "questions/", asked, Idempotency_Key="one"),
            post(client, f"runs/{scene.run.pk}/again/"),
            post(client, "exports/", {"run": scene.run.pk}),
            post(client, "comments/", {"run": scene.run.pk, "body": "Read."}),
        ]
        assert [answer.status_code for answer in made] == [201, 201, 201, 202, 201]
        for answer in made:
            assert client.get(answer["Location"]).status_code == 200, answer["Location"]
        assert made[1]["Location"] == f"/api/v1/runs/{made[1].json()['run']['id']}/"

    def test_a_repeated_request_says_it_again(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        client, body = client_as(cast.analyst), {"run": scene.run.pk, "body": "Once."}
        first, again = (post(client, "comments/", body, Idempotency_Key="same") for _ in range(2))
        assert (again["Idempotency-Replayed"], again["Location"]) == ("true", first["Location"])


class TestLists:
    @pytest.mark.parametrize(
        ("path", "found"),
        [
            ("runs/?status=done", True), ("runs/?status=failed", False), ("runs/?asked_by=me", True),
            ("runs/?strategy=offline&since=2020-01-01", True), ("runs/?until=2020-01-01", False),
            ("runs/?document={document}", True), ("runs/?document=999999999", False),
            ("documents/?status=ready&ordering=name", True), ("documents/?uploaded_by={other}", False),
            ("candidates/?document={document}&ordering=-document", True), ("candidates/?document=999999999", False),
            ("reviews/?reviewer={other}", False), ("rounds/?asked_by=me", True),
        ],
    )  # fmt: skip
    def test_they_are_narrowed(
        self, path: str, found: bool, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        asked = path.format(document=scene.document.pk, other=cast.outsider.pk)
        answer = get(client_as(cast.analyst), asked)
        assert (answer.status_code, bool(answer.json()["results"])) == (200, found), answer.content

    @pytest.mark.parametrize(
        ("path", "name"),
        [
            ("runs/?status=over", "status"), ("runs/?since=yesterday", "since"), ("runs/?until=2026-13-40", "until"),
            ("runs/?asked_by=maria", "asked_by"), ("runs/?ordering=cost", "ordering"), ("runs/?document=x", "document"),
        ],
    )  # fmt: skip
    def test_a_value_that_means_nothing_is_told(
        self, path: str, name: str, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        answer = get(client_as(cast.analyst), path)
        assert (answer.status_code, list(answer.json()["errors"])) == (400, [name])

    def test_pages_follow_an_order_of_equal_values(
        self, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        client, seen = client_as(cast.analyst), []
        path: str | None = "/api/v1/candidates/?ordering=document&page_size=2"
        while path:
            page = client.get(path).json()
            seen += [row["id"] for row in page["results"]]
            path = page["next"]
        every = client.get("/api/v1/candidates/?page_size=200").json()["results"]
        assert sorted(seen) == sorted(row["id"] for row in every)
        assert len(seen) > 2


def test_the_question_has_the_name_it_was_sent_under(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    told = get(client_as(cast.analyst), f"runs/{scene.run.pk}/").json()
    assert told["text"] == told["question"] == scene.run.question.text


class TestFollowing:
    @pytest.fixture(autouse=True)
    def quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(streams, "PAUSE", 0.001)

    def events(self, client: Client, pk: int) -> Any:
        return client.get(f"/api/v1/runs/{pk}/events/", headers={"Accept": "text/event-stream"})

    def test_it_tells_each_change_and_ends_with_the_run(
        self, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.ARBITRATING, finished_at=None)
        answer = self.events(client_as(cast.analyst), scene.run.pk)
        assert answer["Content-Type"] == "text/event-stream; charset=utf-8"
        told = iter(answer.streaming_content)
        assert next(told) == b"retry: 1\n\n"
        first = json.loads(next(told).split(b"data: ")[1])
        assert (first["status"], "parse" in first["stages"]) == ("arbitrating", True)
        Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.DONE)
        rest = list(told)
        assert [b'"status": "done"' in rest[0], rest[1:]] == [True, [b"event: end\ndata: {}\n\n"]]

    def test_who_loses_the_right_is_told_nothing_more(
        self, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.ARBITRATING)
        answer = self.events(client_as(cast.analyst), scene.run.pk)
        told = iter(answer.streaming_content)
        next(told), next(told)
        Membership.objects.filter(user=cast.analyst).delete()
        Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.DONE)
        assert list(told) == [b"event: end\ndata: {}\n\n"]
        assert self.events(client_as(cast.outsider), scene.run.pk).status_code == 404

    def test_it_is_bounded_in_time_and_number(
        self, cast: Cast, client_as: ClientAs, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "SECONDS", 0.0)
        Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.ARBITRATING)
        client = client_as(cast.analyst)
        held = [self.events(client, scene.run.pk) for _ in range(streams.PER_PERSON)]
        refused = self.events(client, scene.run.pk)
        assert (refused.status_code, refused.json()["code"]) == (503, "too_many_streams")
        assert len(list(held[0].streaming_content)) == 2, "the progress, and no end"
        held[0] = self.events(client, scene.run.pk)
        assert held[0].status_code == 200, "the first has given its place back"
        for answer in held:
            list(answer.streaming_content)

    def test_it_must_be_asked_for(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        answer = get(client_as(cast.analyst), f"runs/{scene.run.pk}/events/")
        assert (answer.status_code, answer.json()["code"]) == (406, "ask_for_event_stream")


@pytest.fixture(scope="module")
def described() -> Any:
    return yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text("utf-8"))


class TestDescription:
    def test_every_property_has_a_type(self, described: Any) -> None:
        shapes = described["components"]["schemas"]
        kinds = {"type", "$ref", "allOf", "oneOf", "anyOf"}
        untyped = [
            f"{name}.{key}"
            for name, shape in shapes.items()
            for key, known in shape.get("properties", {}).items()
            if not kinds & set(known)
        ]
        assert untyped == []

    def test_every_operation_has_a_title_of_its_own(self, described: Any) -> None:
        titles = [
            operation.get("summary")
            for operations in described["paths"].values()
            for operation in operations.values()
        ]
        assert None not in titles
        assert len(titles) == len(set(titles)) > 150

    def test_examples_are_of_their_shapes(self, described: Any) -> None:
        seen = set()
        for operations in described["paths"].values():
            for operation in operations.values():
                body = operation.get("requestBody", {}).get("content", {}).get(JSON, {})
                for example in body.get("examples", {}).values():
                    seen.add(operation["operationId"])
                    shape = body["schema"] | {"components": described["components"]}
                    OAS30Validator(shape).validate(example["value"])
        assert seen == set(REQUESTS)

    def test_what_makes_something_says_where(self, described: Any) -> None:
        silent = [
            operation["operationId"]
            for operations in described["paths"].values()
            for method, operation in operations.items()
            if method == "post" and "201" in operation["responses"]
            if "Location" not in operation["responses"]["201"].get("headers", {})
        ]
        assert silent == []
