"""The labelling workbench by the API: a day at the desk, adjudication, figures, and who may do what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.labeling.makers import annotators, make_pairs, make_project
from tests.workbench.pages.conftest import queries_of
from workbench.accounts.models import User
from workbench.labeling.models import GuidelineVersion, Label, Pair, PairState, Project, Slot

pytestmark = pytest.mark.usefixtures("here")
ClientAs = Callable[[User | None], Client]
JSON = "application/json"
PROJECTS = "/api/v1/labeling-projects/"


@pytest.fixture
def project(cast: Cast) -> Project:
    return make_project(cast)


def post(client: Client, path: str, body: dict[str, Any] | None = None) -> Any:
    return client.post(path, body or {}, content_type=JSON)


def judged(client: Client, project: Project, role: str) -> dict[str, Any]:
    """The next pair, labelled."""
    slot = post(client, f"{PROJECTS}{project.pk}/next/").json()
    answered = post(client, f"/api/v1/labeling-desk/{slot['id']}/answer/", {"role": role})
    assert answered.status_code == 200, answered.content
    return dict(slot)


def test_a_day_at_the_desk(cast: Cast, project: Project, client_as: ClientAs) -> None:
    make_pairs(project, 3)
    client = client_as(cast.annotator)

    first = judged(client, project, "primary")
    second = post(client, f"{PROJECTS}{project.pk}/next/").json()
    again = post(client, f"{PROJECTS}{project.pk}/next/").json()
    assert again["id"] == second["id"]  # a repeated request loses nothing
    passed = post(client, f"/api/v1/labeling-desk/{second['id']}/pass/", {"kind": "later"})
    assert passed.status_code == 204
    assert post(client, f"{PROJECTS}{project.pk}/undo/").json()["id"] == second["id"]
    assert post(client, f"/api/v1/labeling-desk/{second['id']}/release/").status_code == 204
    for role in ("supporting", "discarded"):
        judged(client, project, role)

    assert post(client, f"{PROJECTS}{project.pk}/next/").status_code == 204
    assert [label.role for label in Label.objects.order_by("pk")] == ["primary", "supporting", "discarded"]
    assert first["pair"]["question"]
    assert any(line["is_passage"] for line in first["pair"]["passage"]["lines"])


def test_the_desk_tells_nothing_of_the_machine_or_of_others(
    cast: Cast, project: Project, client_as: ClientAs
) -> None:
    make_pairs(project, 1, places=2, gold_role="primary")
    slot = post(client_as(cast.annotator), f"{PROJECTS}{project.pk}/next/").json()

    assert set(slot) == {"id", "project", "pair", "state", "role", "held_until"}
    assert not {"gold_role", "priority", "is_holdout", "origin", "state", "candidate"} & set(slot["pair"])
    other = annotators(cast, 1)[0]
    assert client_as(other).get(f"/api/v1/labeling-desk/{slot['id']}/").status_code == 404
    answer = post(client_as(other), f"/api/v1/labeling-desk/{slot['id']}/answer/", {"role": "primary"})
    assert answer.status_code == 404
    assert not Label.objects.exists()


def test_projects_are_made_and_supplied_by_admins(cast: Cast, project: Project, client_as: ClientAs) -> None:
    body = {"collection": "alpha", "name": "By the API", "keep_waiting": 3}
    admin = client_as(cast.admin)
    made = post(admin, PROJECTS, body)
    assert made.status_code == 201
    assert (made.json()["collection"], made.json()["keep_waiting"]) == ("alpha", 3)
    key = made.json()["id"]

    for client, status in ((client_as(cast.annotator), 403), (client_as(cast.outsider), 404)):
        assert post(client, PROJECTS, body | {"name": "Another"}).status_code == status
        for act, given in {
            "fill": {"limit": 5},
            "supply": {"keep_waiting": 1},
            "open": {"is_open": False},
            "guidelines": {"body": "Other."},
        }.items():
            assert post(client, f"{PROJECTS}{key}/{act}/", given).status_code == status, act
    assert post(admin, f"{PROJECTS}{key}/fill/", {"limit": 5}).json() == {
        "added": 0,
        "double": 0,
        "known": 0,
    }
    assert post(admin, f"{PROJECTS}{key}/supply/", {"keep_waiting": 9}).json()["keep_waiting"] == 9
    assert post(admin, f"{PROJECTS}{key}/open/", {"is_open": False}).json()["is_open"] is False
    assert post(admin, f"{PROJECTS}{key}/guidelines/", {"body": "Other."}).json()["number"] == 2
    versions = client_as(cast.annotator).get(f"{PROJECTS}{key}/guidelines/").json()
    assert [version["number"] for version in versions] == [2, 1]
    assert GuidelineVersion.objects.count() == 2


def disputed(cast: Cast, project: Project, client_as: ClientAs) -> Pair:
    (pair,) = make_pairs(project, 1, places=2)
    for person, role in zip([cast.annotator, *annotators(cast, 1)], ["primary", "discarded"], strict=True):
        judged(client_as(person), project, role)
    return pair


def test_a_third_person_decides(cast: Cast, project: Project, client_as: ClientAs) -> None:
    pair = disputed(cast, project, client_as)
    path = f"/api/v1/disputes/{pair.pk}/"
    client = client_as(cast.reviewer)

    assert [row["id"] for row in client.get("/api/v1/disputes/").json()["results"]] == [pair.pk]
    assert sorted(client.get(path).json()["judgments"]) == ["discarded", "primary"]
    assert client_as(cast.annotator).get(path).status_code == 404
    decided = post(client, f"{path}adjudicate/", {"role": "tangential", "comment": "Neither."})
    assert decided.status_code == 200
    assert decided.json()["state"] == "settled"
    assert pair.adjudication.outcome == "both_wrong"
    again = post(client, f"{path}adjudicate/", {"role": "primary"})
    assert (again.status_code, again.json()["code"]) == (409, "not_disputed")


def test_what_cannot_be_told_is_set_aside(cast: Cast, project: Project, client_as: ClientAs) -> None:
    pair = disputed(cast, project, client_as)
    path = f"/api/v1/disputes/{pair.pk}/set-aside/"
    client = client_as(cast.reviewer)

    assert post(client, path, {"comment": ""}).status_code == 400
    assert post(client, path, {"comment": "Cut off."}).json()["state"] == "set_aside"
    pair.refresh_from_db()
    assert pair.state == PairState.SET_ASIDE


def test_agreement_and_labels_of_a_collection(cast: Cast, project: Project, client_as: ClientAs) -> None:
    disputed(cast, project, client_as)

    figures = client_as(cast.auditor).get("/api/v1/labels/alpha/agreement/").json()
    assert figures["percent"] == {"value": 0.0, "low": 0.0, "high": 0.0, "n": 1}
    assert [row["kappa"]["n"] for row in figures["people"]] == [1]
    assert client_as(cast.annotator).get("/api/v1/labels/alpha/agreement/").status_code == 404
    export = client_as(cast.admin).get("/api/v1/labels/alpha/export/")
    assert export["Content-Type"].startswith("text/csv")
    assert export.content.decode("utf-8-sig").startswith("question,document")
    assert "attachment" in export["Content-Disposition"]
    for person in (cast.annotator, cast.auditor, cast.outsider):
        assert client_as(person).get("/api/v1/labels/alpha/export/").status_code == 404


def test_few_queries(cast: Cast, project: Project, client_as: ClientAs) -> None:
    pair = disputed(cast, project, client_as)
    make_pairs(project, 10, start=50)
    slot = Slot.objects.filter(person=cast.annotator).first()
    assert slot is not None
    for person, path in (
        (cast.annotator, PROJECTS),
        (cast.annotator, f"/api/v1/labeling-desk/{slot.pk}/"),
        (cast.reviewer, "/api/v1/disputes/"),
        (cast.reviewer, f"/api/v1/disputes/{pair.pk}/"),
    ):
        assert queries_of(client_as(person), path) <= 15, path
