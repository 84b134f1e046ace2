"""A person's keywords for another run: shown, edited, on record, and part of the cache key."""

from __future__ import annotations

from collections.abc import Callable

from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import Run

ClientAs = Callable[[User | None], Client]


def again(client: Client, run: Run, **fields: str) -> Run:
    response = client.post(f"/runs/{run.pk}/again/", fields)
    assert response.status_code == 302, response.content
    return Run.objects.get(pk=int(response["Location"].strip("/").split("/")[1].split("?")[0]))


def test_edited_keywords_make_a_run_of_their_own(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client = client_as(cast.analyst)
    page = client.get(f"/runs/{scene.run.pk}/?tab=provenance").content.decode()
    assert "Run again with these keywords" in page
    other = again(client, scene.run, primary="legal hold", secondary="deletion\nlifted")
    assert other.pk != scene.run.pk
    for stage in (run_detect, run_arbitrate, run_answer):
        stage(run_id=other.pk)
    other.refresh_from_db()
    assert [k["term"] for k in other.parsed_question["keywords"]] == ["legal hold", "deletion", "lifted"]
    assert "keywords edited by a person" in other.notes
    evidence = other.candidates.filter(verdict__role__in=["primary", "supporting"])
    assert "legal hold" in " ".join(candidate.text.anchor for candidate in evidence)


def test_the_same_edits_again_give_the_same_run(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client = client_as(cast.analyst)
    first = again(client, scene.run, primary="legal hold", secondary="")
    for stage in (run_detect, run_arbitrate, run_answer):
        stage(run_id=first.pk)
    assert again(client, scene.run, primary="legal hold", secondary="").pk == first.pk
    assert again(client, scene.run, primary="deletion", secondary="").pk != first.pk


def test_no_keyword_is_refused_and_makes_no_run(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    before = Run.objects.count()
    response = client_as(cast.analyst).post(
        f"/runs/{scene.run.pk}/again/", {"primary": " ", "secondary": ""}, follow=True
    )
    assert "Write at least one keyword." in response.content.decode()
    assert Run.objects.count() == before
