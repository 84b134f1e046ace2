"""Pairs for a labelling project by the API: of one question set, of what was discarded, from a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.labeling.makers import make_project
from tests.workbench.scene import make_run
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.api.tokens import token_create
from workbench.checklists.models import QuestionSet
from workbench.checklists.services import question_set_create
from workbench.documents.models import Document
from workbench.labeling.models import ElusionSample, Pair, PairOrigin, Project
from workbench.runs.models import Run, Verdict

pytestmark = pytest.mark.usefixtures("here")
ClientAs = Callable[[User | None], Client]
HEAD = "question,document,page,line_from,line_to,role\n"


@pytest.fixture
def project(cast: Cast) -> Project:
    return make_project(cast)


@pytest.fixture
def discarded(cast: Cast, project: Project) -> int:
    """A run whose candidates were all discarded, and their number."""
    run: Run = make_run(asker=cast.analyst, document=Document.objects.get())
    Verdict.objects.filter(candidate__run=run).update(role="discarded", probability=0.02)
    return run.candidates.count()


@pytest.fixture
def other_set(cast: Cast) -> QuestionSet:
    """A set of which nothing was asked yet."""
    return question_set_create(
        actor=cast.analyst, collection=cast.alpha, name="Other", description="", questions=["Who signs?"]
    )


def post(client: Client, project: Project, act: str, body: dict[str, Any], **headers: str) -> Any:
    path = f"/api/v1/labeling-projects/{project.pk}/{act}/"
    return client.post(path, body, content_type="application/json", headers=headers)


def send(client: Client, project: Project, text: str, **others: Any) -> Any:
    file = SimpleUploadedFile("pairs.csv", (HEAD + text).encode(), "text/csv")
    return client.post(f"/api/v1/labeling-projects/{project.pk}/import/", {"file": file, **others})


def test_a_sample_of_what_was_discarded(
    cast: Cast, client_as: ClientAs, project: Project, discarded: int
) -> None:
    client = client_as(cast.admin)
    drawn = post(client, project, "elusion", {"size": 3}, **{"Idempotency-Key": "k"})
    assert drawn.status_code == 201, drawn.content
    body = drawn.json()
    assert (body["project"], body["question_set"]) == (project.pk, None)
    assert (body["drawn"], body["population"]) == (3, discarded)
    assert body["created_at"]
    assert set(Pair.objects.values_list("origin", flat=True)) == {PairOrigin.DISCARDED}

    assert post(client, project, "elusion", {"size": 3}, **{"Idempotency-Key": "k"}).json() == body
    assert ElusionSample.objects.count() == 1
    (figures,) = client.get("/api/v1/collections/alpha/trust/").json()["evidence_among_discarded"]
    assert (figures["drawn"], figures["population"]) == (3, discarded)
    assert post(client, project, "elusion", {}).json()["drawn"] == min(discarded, 100)


@pytest.mark.parametrize("act", ["elusion", "fill"])
def test_of_one_question_set(
    act: str, cast: Cast, client_as: ClientAs, project: Project, discarded: int, other_set: QuestionSet
) -> None:
    client = client_as(cast.admin)
    of_it = post(client, project, act, {"question_set": other_set.pk})
    if act == "elusion":
        assert (of_it.status_code, of_it.json()["code"]) == (400, "nothing_discarded")
    else:
        assert of_it.json() == {"added": 0, "double": 0, "known": 0}
    assert not Pair.objects.exists()
    QuestionSet.objects.filter(pk=other_set.pk).update(collection=cast.beta)
    assert post(client, project, act, {"question_set": other_set.pk}).status_code == 404
    assert post(client, project, act, {"question_set": None}).status_code in {200, 201}
    assert Pair.objects.exists()


@pytest.mark.parametrize("body", [{"size": 0}, {"size": "many"}, {"size": 10**9}, {"question_set": 0}])
def test_nonsense_is_refused_by_its_field(
    body: dict[str, Any], cast: Cast, client_as: ClientAs, project: Project, discarded: int
) -> None:
    refused = post(client_as(cast.admin), project, "elusion", body)
    assert (refused.status_code, list(refused.json()["errors"])) == (400, list(body))
    assert not ElusionSample.objects.exists()


def test_pairs_from_a_file(cast: Cast, client_as: ClientAs, project: Project) -> None:
    name = Document.objects.get().name
    client = client_as(cast.admin)
    good = f"Who?,{name},1,1,2,\n"
    tried = send(client, project, good, dry_run=True)
    assert (tried.status_code, tried.json()["good"], Pair.objects.count()) == (200, 1, 0), tried.content
    bad = send(client, project, good + "Who?,nowhere.txt,1,1,2,\n").json()
    assert (bad["added"], bad["bad_count"], bad["bad"][0]["line"], Pair.objects.count()) == (0, 1, 3, 0)
    assert send(client, project, good).json()["added"] == 1
    assert Pair.objects.get().project == project
    assert client.post(f"/api/v1/labeling-projects/{project.pk}/import/").status_code == 400


def test_only_those_who_manage_supply_it(
    cast: Cast, client_as: ClientAs, client: Client, project: Project, discarded: int
) -> None:
    for person, code in ((cast.annotator, 403), (cast.reviewer, 403), (cast.outsider, 404)):
        assert post(client_as(person), project, "elusion", {"size": 1}).status_code == code
        assert send(client_as(person), project, "").status_code == code
    _token, key = token_create(actor=cast.admin, name="job", scopes=[Permission.VIEW], days=1)
    refused = post(client, project, "elusion", {"size": 1}, Authorization=f"Bearer {key}")
    assert (refused.status_code, refused["Content-Type"]) == (403, "application/problem+json")
    assert not Pair.objects.exists()
