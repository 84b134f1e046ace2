"""The API as its users meet it: what each may do, what comes back, and what is refused in words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.documents.erasure import document_delete
from workbench.documents.models import Document
from workbench.runs.models import Run

ClientAs = Callable[[User | None], Client]
JSON = "application/json"


def test_a_stranger_gets_a_problem(client_as: ClientAs, db: None) -> None:
    response = client_as(None).get("/api/v1/runs/")
    assert response.status_code == 401
    assert response["Content-Type"] == "application/problem+json"
    assert response.json()["code"] == "not_authenticated"


def test_upload_makes_a_document_and_the_same_bytes_give_it_again(
    cast: Cast, client_as: ClientAs, here: None
) -> None:
    client = client_as(cast.analyst)

    def send() -> object:
        file = SimpleUploadedFile("note.txt", b"A line of text.\n")
        return client.post("/api/v1/documents/", {"collection": "alpha", "file": file})

    first, second = send(), send()
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"]
    assert first.json()["status"] == "queued"
    assert Document.objects.count() == 1


def test_an_empty_file_is_refused_in_words(cast: Cast, client_as: ClientAs, here: None) -> None:
    file = SimpleUploadedFile("empty.txt", b"")
    response = client_as(cast.analyst).post("/api/v1/documents/", {"collection": "alpha", "file": file})
    assert response.status_code == 400
    assert "empty" in str(response.json()).lower()


def test_the_original_comes_back_as_it_was_sent(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    path = f"/api/v1/documents/{scene.document.pk}/original/"
    answer = client_as(cast.auditor).get(path)
    assert b"".join(answer.streaming_content) == scene.document.file.read()
    assert answer["Content-Type"] == "application/octet-stream", "nothing in it can act"
    assert answer["Content-Disposition"].startswith("attachment")
    assert client_as(cast.outsider).get(path).status_code == 404

    document_delete(actor=cast.admin, document=scene.document, reason="Asked for by the client.")
    gone = client_as(cast.auditor).get(path)
    assert (gone.status_code, gone["Content-Type"]) == (404, "application/problem+json")


@pytest.mark.parametrize("name", ["auditor", "annotator"])
def test_who_may_not_ask_is_told_so(name: str, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    response = client_as(getattr(cast, name)).post(
        "/api/v1/questions/", {"collection": "alpha", "text": "Why?"}, content_type=JSON
    )
    assert response.status_code == 403
    assert response.json()["code"] == "not_allowed"


def test_a_question_makes_a_run_once_per_idempotency_key(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    client = client_as(cast.analyst)
    body = {"collection": "alpha", "text": "Who may lift a legal hold?", "strategy": "offline"}
    before = Run.objects.count()
    answers = [
        client.post(
            "/api/v1/questions/", body, content_type=JSON, headers={"Idempotency-Key": "a-key-of-mine"}
        )
        for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json()["run"]["id"] == answers[1].json()["run"]["id"]
    assert Run.objects.count() == before + 1


def test_the_same_question_again_is_answered_by_the_same_run(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    response = client_as(cast.analyst).post(
        "/api/v1/questions/",
        {
            "collection": "alpha",
            "document": scene.document.pk,
            "text": f"  {scene.run.question.text.upper()} ",
            "strategy": "offline",
        },
        content_type=JSON,
    )
    assert response.status_code == 200
    assert response.json()["cached"] is True
    assert response.json()["run"]["id"] == scene.run.pk


def test_a_question_is_asked_with_a_persons_keywords(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    """As the page asks one again: a run of its own beside that of the parser's keywords."""
    body = {
        "collection": "alpha",
        "document": scene.document.pk,
        "text": scene.run.question.text,
        "strategy": "offline",
        "keywords": {"primary": ["access records"], "secondary": ["months"]},
    }
    client = client_as(cast.analyst)
    asked = client.post("/api/v1/questions/", body, content_type=JSON)
    assert (asked.status_code, asked.json()["cached"]) == (201, False), asked.content
    run = Run.objects.get(pk=asked.json()["run"]["id"])
    assert run.question_edits == body["keywords"]


@pytest.mark.parametrize(
    "keywords",
    [None, [], {}, {"primary": []}, {"primary": [""]}, {"primary": ["x"] * 41}, {"secondary": ["x" * 201]}],
)
def test_keywords_that_are_none_are_refused(
    keywords: object, cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    body = {"collection": "alpha", "text": "Why?", "strategy": "offline", "keywords": keywords}
    refused = client_as(cast.analyst).post("/api/v1/questions/", body, content_type=JSON)
    assert (refused.status_code, list(refused.json()["errors"])) == (400, ["keywords"])


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"text": "   "}, "invalid"),
        ({"text": "???"}, "question_missing"),
        ({"text": "Why?", "strategy": "no-such"}, "strategy_unknown"),
        ({"text": "Why?", "strategy": "arbiter"}, "strategy_needs_model"),
        ({"text": "x" * 2001}, "invalid"),
        ({"text": "Why?", "document": 10**18}, "not_found"),
    ],
)
def test_bad_questions_are_refused_with_a_code(
    body: dict[str, object], code: str, cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    response = client_as(cast.analyst).post(
        "/api/v1/questions/", {"collection": "alpha"} | body, content_type=JSON
    )
    assert response.status_code in {400, 404}
    assert response.json()["code"] == code


def test_a_run_is_read_in_the_audit_format(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    record = client_as(cast.auditor).get(f"/api/v1/runs/{scene.run.pk}/record/").json()
    assert record["result"]["question"] == scene.run.question.text
    provenances = {p["candidate_id"]: p for p in record["audit"]["provenances"]}
    assert len(provenances) == scene.run.candidates.count()
    assert all(p["llm_role"] and p["llm_reason"] for p in provenances.values())
    assert all(c["role"] != "discarded" for c in record["result"]["candidates"])


def test_an_override_by_the_api_leaves_the_machines_word(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    candidate = scene.run.candidates.filter(reviews__isnull=True, verdict__role="discarded").first() or (
        scene.run.candidates.filter(reviews__isnull=True).exclude(verdict__role="supporting").first()
    )
    machine = candidate.verdict.role
    response = client_as(cast.reviewer).post(
        "/api/v1/reviews/",
        {
            "candidate": candidate.pk,
            "action": "override",
            "role": "supporting",
            "reason_code": "wrong_role",
        },
        content_type=JSON,
    )
    assert response.status_code == 201, response.json()
    read = client_as(cast.auditor).get(f"/api/v1/candidates/{candidate.pk}/").json()
    assert read["verdict"]["role"] == machine
    assert read["effective_role"] == "supporting"
    assert [review["action"] for review in read["reviews"]] == ["override"]


@pytest.mark.parametrize("name", ["analyst", "annotator", "auditor", "admin"])
def test_only_reviewers_decide(name: str, cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    candidate = scene.run.candidates.filter(reviews__isnull=True).first()
    response = client_as(getattr(cast, name)).post(
        "/api/v1/reviews/", {"candidate": candidate.pk, "action": "unsure"}, content_type=JSON
    )
    assert response.status_code == 403
    assert candidate.reviews.count() == 0


def test_lists_come_in_pages_with_a_cursor(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    first = client_as(cast.auditor).get("/api/v1/candidates/?page_size=1").json()
    assert len(first["results"]) == 1
    second = client_as(cast.auditor).get(first["next"]).json()
    assert second["results"][0]["id"] < first["results"][0]["id"]
