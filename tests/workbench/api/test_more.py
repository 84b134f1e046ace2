"""Vocabulary, versions, question sets, comparisons and evaluations by the API; repeated requests; huge numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import queries_of
from tests.workbench.scene import TEXT, Scene, make_document
from workbench.accounts.models import User
from workbench.api.models import IdempotentRequest
from workbench.api.tokens import token_create
from workbench.checklists.models import QuestionSet, Round
from workbench.documents.models import VersionOffer
from workbench.people.services import membership_revoke
from workbench.review.models import Review
from workbench.runs.models import EvaluationRun
from workbench.synonyms.models import DictionaryEntry

ClientAs = Callable[[User | None], Client]
JSON = "application/json"
HUGE = ["9" * 19, "9" * 400, "-1", "1e3", "٣", "x", "1.5"]


def post(client: Client, path: str, body: dict[str, Any] | None = None, key: str = "") -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(path, body or {}, content_type=JSON, headers=headers)


LISTS = ["vocabulary", "question-sets", "rounds", "comparisons", "documents", "runs", "candidates", "reviews"]


class TestLists:
    @pytest.mark.parametrize("name", LISTS)
    def test_a_member_finds_what_an_outsider_does_not(
        self, name: str, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        found = client_as(cast.auditor).get(f"/api/v1/{name}/").json()
        assert found["results"]
        assert set(found) == {"next", "previous", "results"}
        assert client_as(cast.outsider).get(f"/api/v1/{name}/").json()["results"] == []
        key = found["results"][0]["id"]
        assert client_as(cast.auditor).get(f"/api/v1/{name}/{key}/").status_code == 200
        assert client_as(cast.outsider).get(f"/api/v1/{name}/{key}/").status_code == 404

    @pytest.mark.parametrize("name", LISTS)
    def test_few_queries(self, name: str, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        assert queries_of(client_as(cast.auditor), f"/api/v1/{name}/") <= 15

    @pytest.mark.parametrize("name", ["reviews", "comments"])
    def test_a_program_of_a_reviewer_costs_few_queries(self, name: str, cast: Cast, scene: Scene) -> None:
        _row, key = token_create(actor=cast.second_reviewer, name="mine", scopes=["view"], days=1)
        program = Client(headers={"Authorization": f"Bearer {key}"})
        assert queries_of(program, f"/api/v1/{name}/") <= 5

    @pytest.mark.parametrize("value", HUGE)
    @pytest.mark.parametrize("path", ["candidates/?run=", "reviews/?run=", "rounds/?question_set="])
    def test_numbers_that_no_key_can_be_are_refused_in_words(
        self, path: str, value: str, cast: Cast, client_as: ClientAs
    ) -> None:
        response = client_as(cast.auditor).get(f"/api/v1/{path}{value}")
        assert response.status_code == 400
        assert response.json()["code"] == "invalid"

    @pytest.mark.parametrize("value", HUGE)
    @pytest.mark.parametrize("name", [*LISTS, "evaluations", "collections"])
    def test_addresses_with_them_lead_nowhere(
        self, name: str, value: str, cast: Cast, client_as: ClientAs
    ) -> None:
        assert client_as(cast.auditor).get(f"/api/v1/{name}/{value}/").status_code == 404
        assert client_as(cast.auditor).get(f"/api/v1/{name}/?cursor={value}").status_code in {200, 404}
        assert client_as(cast.auditor).get(f"/api/v1/{name}/?page_size={value}").status_code == 200

    @pytest.mark.parametrize("value", ["9" * 19, "9" * 400])
    def test_pages_take_them_too(self, value: str, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        for path in ("/queue/?after=", "/collections/alpha/vocabulary/?after=", "/runs/?before="):
            assert client_as(cast.reviewer).get(path + value).status_code == 200

    def test_numbers_in_a_body(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        client = client_as(cast.reviewer)
        body = {"candidate": 10**40, "action": "unsure"}
        assert post(client, "/api/v1/reviews/", body).status_code in {400, 404}
        body = {"collection": "alpha", "text": "Why?", "document": 10**40}
        assert post(client_as(cast.analyst), "/api/v1/questions/", body).status_code in {400, 404}


class TestVocabulary:
    def test_a_pair_is_added_by_who_may_and_turned_down_again(
        self, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        body = {"collection": "alpha", "term": "ledger", "variant": "access register"}
        assert post(client_as(cast.analyst), "/api/v1/vocabulary/", body).status_code == 403
        made = post(client_as(cast.reviewer), "/api/v1/vocabulary/", body)
        assert (made.status_code, made.json()["status"]) == (201, "approved")
        path = f"/api/v1/vocabulary/{made.json()['id']}/reject/"
        assert post(client_as(cast.analyst), path).status_code == 403
        assert post(client_as(cast.reviewer), path).json()["status"] == "rejected"
        listed = client_as(cast.auditor).get("/api/v1/vocabulary/?collection=alpha&status=rejected").json()
        assert [entry["term"] for entry in listed["results"]] == ["ledger"]


class TestVersions:
    def test_an_offer_is_decided_by_who_may_upload(
        self, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        text = TEXT | {"4 More": ["Another line."]}
        newer = make_document(collection=cast.alpha, owner=cast.analyst, name="policy-v2.txt", text=text)
        VersionOffer.objects.create(document=newer, older=scene.document)
        path = f"/api/v1/documents/{newer.pk}/version-decision/"
        assert post(client_as(cast.auditor), path, {"decision": "accepted"}).status_code == 403
        assert post(client_as(cast.outsider), path, {"decision": "accepted"}).status_code == 404
        assert post(client_as(cast.analyst), path, {"decision": "perhaps"}).status_code == 400
        assert post(client_as(cast.analyst), path, {"decision": "accepted"}).json()["state"] == "accepted"
        chain = client_as(cast.auditor).get(f"/api/v1/documents/{scene.document.pk}/versions/").json()
        assert [version["id"] for version in chain["versions"]] == [scene.document.pk, newer.pk]


class TestQuestionSets:
    BODY = {"collection": "alpha", "name": "Month end", "questions": ["Who keeps records?", "How long?"]}

    def test_a_set_is_saved_changed_and_asked(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        client = client_as(cast.analyst)
        made = post(client, "/api/v1/question-sets/", self.BODY).json()
        changed = post(client, f"/api/v1/question-sets/{made['id']}/change/", {"questions": ["How long?"]})
        assert changed.json()["questions"] == ["How long?"]
        body = {"question_set": made["id"], "documents": [scene.document.pk], "strategy": "offline"}
        started = post(client, "/api/v1/rounds/", body)
        assert started.status_code == 201
        grid = client_as(cast.auditor).get(f"/api/v1/rounds/{started.json()['id']}/grid/").json()
        assert grid["questions"] == ["How long?"]
        assert [cell["state"] for row in grid["rows"] for cell in row["cells"]] == ["waiting"]

    def test_who_may_not_ask(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        assert post(client_as(cast.auditor), "/api/v1/question-sets/", self.BODY).status_code == 403
        body = {"question_set": scene.round.question_set_id, "documents": [scene.document.pk]}
        assert post(client_as(cast.auditor), "/api/v1/rounds/", body).status_code == 403
        assert post(client_as(cast.outsider), "/api/v1/rounds/", body).status_code == 404

    @pytest.mark.parametrize("questions", [[], [" "], ["Why?", "Why?"], ["x" * 2001], ["Why?"] * 201])
    def test_questions_that_cannot_be_saved(
        self, questions: list[str], cast: Cast, client_as: ClientAs
    ) -> None:
        response = post(
            client_as(cast.analyst), "/api/v1/question-sets/", self.BODY | {"questions": questions}
        )
        assert response.status_code == 400
        assert not QuestionSet.objects.exists()

    def test_documents_of_elsewhere_are_refused(self, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
        other = make_document(collection=cast.beta, owner=cast.outsider, name="other.txt")
        body = {"question_set": scene.round.question_set_id, "documents": [other.pk, 2**62]}
        before = Round.objects.count()
        response = post(client_as(cast.analyst), "/api/v1/rounds/", body)
        assert response.status_code == 400
        assert "documents" in response.json()["errors"]
        assert Round.objects.count() == before


class TestComparisons:
    def test_a_question_is_compared_and_decided_for_all_at_once(
        self, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        body = {"collection": "alpha", "text": "Why?", "strategies": ["offline"]}
        assert post(client_as(cast.analyst), "/api/v1/comparisons/", body).status_code == 400
        body["strategies"] = ["offline", "bm25"]
        assert post(client_as(cast.auditor), "/api/v1/comparisons/", body).status_code == 403
        assert len(post(client_as(cast.analyst), "/api/v1/comparisons/", body).json()["runs"]) == 2

        path = f"/api/v1/comparisons/{scene.comparison.pk}/"
        shown = client_as(cast.auditor).get(f"{path}candidates/").json()
        undecided = next(row for row in shown["candidates"] if not row["decided"])
        decision = {"candidate_id": undecided["candidate_id"], "role": "tangential"}
        assert post(client_as(cast.analyst), f"{path}decide/", decision).status_code == 403
        before = Review.objects.count()
        assert post(client_as(cast.reviewer), f"{path}decide/", decision).status_code == 201
        assert Review.objects.count() > before


def test_evaluations_are_everybodys(cast: Cast, client_as: ClientAs) -> None:
    EvaluationRun.objects.create(dataset="one", report={"strategies": {}}, seconds=1)
    EvaluationRun.objects.create(dataset="two", report={"strategies": {}}, seconds=1)
    listed = client_as(cast.outsider).get("/api/v1/evaluations/?dataset=one").json()["results"]
    assert [row["dataset"] for row in listed] == ["one"]
    assert client_as(None).get("/api/v1/evaluations/").status_code == 401


class TestRepeatedRequests:
    BODY = {"collection": "alpha", "term": "ledger", "variant": "access register"}
    PATH = "/api/v1/vocabulary/"

    def test_the_same_request_again_changes_nothing_and_gets_the_same_answer(
        self, cast: Cast, client_as: ClientAs
    ) -> None:
        client = client_as(cast.reviewer)
        first, second = (post(client, self.PATH, self.BODY, key="k1") for _ in range(2))
        assert (first.status_code, second.status_code) == (201, 201)
        assert first.json() == second.json()
        assert "Idempotency-Replayed" not in first
        assert second["Idempotency-Replayed"] == "true"
        assert DictionaryEntry.objects.count() == 1

    def test_the_key_of_another_request_is_refused(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.reviewer)
        post(client, self.PATH, self.BODY, key="k1")
        other = post(client, self.PATH, self.BODY | {"term": "book"}, key="k1")
        assert (other.status_code, other.json()["code"]) == (409, "idempotency_reused")
        assert DictionaryEntry.objects.count() == 1

    def test_keys_are_each_persons_own(self, cast: Cast, client_as: ClientAs) -> None:
        post(client_as(cast.reviewer), self.PATH, self.BODY, key="k1")
        again = post(client_as(cast.second_reviewer), self.PATH, self.BODY, key="k1")
        assert again.json()["code"] == "decided"

    def test_what_was_refused_may_be_tried_again(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.reviewer)
        assert post(client, self.PATH, self.BODY | {"term": "the"}, key="k1").status_code == 400
        assert not IdempotentRequest.objects.exists()
        assert post(client, self.PATH, self.BODY, key="k1").status_code == 201

    @pytest.mark.parametrize("key", ["k" * 81, "a\x7fb"])
    def test_a_key_that_cannot_be_kept(self, key: str, cast: Cast, client_as: ClientAs) -> None:
        assert post(client_as(cast.reviewer), self.PATH, self.BODY, key=key).status_code == 400
        assert not DictionaryEntry.objects.exists()

    def test_who_lost_the_role_is_not_told_again(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.reviewer)
        assert post(client, self.PATH, self.BODY, key="k1").json()["term"] == self.BODY["term"]
        membership_revoke(actor=cast.admin, user=cast.reviewer, collection=cast.alpha, role="reviewer")
        again = post(client, self.PATH, self.BODY, key="k1")
        assert self.BODY["term"] not in again.content.decode()
        assert DictionaryEntry.objects.count() == 1

    def test_a_token_that_may_less_is_not_given_the_answer_of_another(self, cast: Cast) -> None:
        keys = [
            token_create(actor=cast.reviewer, name="job", scopes=scopes, days=1)[1]
            for scopes in (["view", "review"], ["view"])
        ]
        first, other = (
            post(Client(headers={"Authorization": f"Bearer {key}"}), self.PATH, self.BODY, key="k1")
            for key in keys
        )
        assert first.status_code == 201
        assert (other.status_code, other.json()["code"]) == (409, "idempotency_reused")
