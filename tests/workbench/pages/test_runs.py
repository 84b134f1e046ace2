"""The list of runs and its filters."""

from __future__ import annotations

from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import ClientAs
from tests.workbench.scene import Scene, make_run


def shown(client: Client, query: str = "") -> list[int]:
    return [run.pk for run in client.get(f"/runs/{query}").context["page"].items]


def test_members_see_runs_newest_first_and_outsiders_none(
    cast: Cast, client_as: ClientAs, scene: Scene
) -> None:
    newest = make_run(asker=cast.analyst, document=scene.document, text="When does the period start?")
    for user in cast.members.values():
        runs = shown(client_as(user))
        assert runs == sorted(runs, reverse=True)
        assert {scene.run.pk, newest.pk} <= set(runs)
    assert shown(client_as(cast.outsider)) == []


def test_filters_live_in_the_address(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    client, run = client_as(cast.auditor), scene.run.pk
    other = make_run(asker=cast.analyst, document=scene.document, text="When does the period start?").pk
    assert other in shown(client, "?q=period+start")
    assert run not in shown(client, "?q=period+start")
    assert shown(client, "?q=nothing+like+it") == []
    assert {run, other} <= set(shown(client, "?collection=alpha&status=done"))
    assert run not in shown(client, "?status=failed")
    assert shown(client, "?collection=beta") == []
    assert run in shown(client, "?status=nonsense&before=x")
    assert other not in shown(client, f"?before={other}")
    assert {run, other} <= set(shown(client_as(cast.analyst), "?asked_by=me"))
    assert shown(client, "?asked_by=me") == []
