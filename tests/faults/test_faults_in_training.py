"""Faults in the middle of a training: nothing of it stays but its failure on record, and the next one decides as if
there had been none. And two of everything at once.

What an undisturbed training would decide is known beforehand from a rehearsal, which stores nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx2 as httpx
import pytest

from tests.faults.state import at_once, chain_is_whole, stopped_at, training_ended, writes_held
from tests.product import RunningProduct, eventually

pytestmark = [pytest.mark.integration, pytest.mark.faults]

#: The first of the questions that are labelled for a stage; none has another's.
STAGES = {"collecting": 2000, "training": 2100, "deciding": 2200}
#: The table whose writing is in the middle of a stage. Training itself writes none.
TABLES = {"collecting": "models_registry_snapshot", "deciding": "models_registry_gatedecision"}
KEPT = (
    "SELECT number, digest FROM models_registry_modelversion ORDER BY 1",
    "SELECT run_id, outcome FROM models_registry_gatedecision ORDER BY 1",
    "SELECT id, alias, version_id FROM models_registry_aliasmove ORDER BY 1",
    "SELECT name, version_id FROM models_registry_modelalias ORDER BY 1",
)
DECIDED = (
    "SELECT s.content_hash, d.gold_hash, d.outcome, d.reasons FROM models_registry_gatedecision d"
    " JOIN models_registry_trainingrun r ON r.id = d.run_id JOIN models_registry_snapshot s ON s.id = r.snapshot_id"
    " WHERE r.id = %s"
)


def within(product: RunningProduct, call: str) -> Any:
    """The answer of a function of ``training_scene`` called inside the product."""
    done = product.manage("shell", "-v", "0", "-c", f"from tests.faults.training_scene import *; {call}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def struck_training(product: RunningProduct, stage: str) -> int:
    """A training whose worker was killed in the stage; its key."""
    if stage == "training":
        run = int(within(product, "start(slow=True)"))
        query = "SELECT state FROM models_registry_trainingrun WHERE id = %s"
        eventually(lambda: product.rows(query, run) == [("training",)], seconds=180, what="it trains")
        product.kill("worker")
        return run
    with writes_held(product, TABLES[stage]):
        run = int(within(product, "start(slow=False)"))
        stopped_at(product, TABLES[stage])
        product.kill("worker")
    return run


@pytest.mark.parametrize("stage", STAGES)
def test_a_worker_killed_in_a_training(product: RunningProduct, stage: str) -> None:
    within(product, f"labels({STAGES[stage]}, 60)")
    undisturbed = within(product, "rehearse()")
    before = [product.rows(query) for query in KEPT]

    run = struck_training(product, stage)

    assert training_ended(product, run) == "failed"
    (reason,) = product.rows("SELECT failure_reason FROM models_registry_trainingrun WHERE id = %s", run)
    assert "worker" in reason[0]
    assert [product.rows(query) for query in KEPT] == before, "no model, no decision, no other champion"

    again = int(within(product, "start(slow=False)"))
    assert training_ended(product, again) == "done"
    assert [list(row) for row in product.rows(DECIDED, again)] == [undisturbed]
    chain_is_whole(product)


@pytest.fixture
def admins(product: RunningProduct) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    with closing(product.client("admin")) as one, closing(product.client("admin")) as two:
        yield one, two


def test_two_trainings_started_at_once_are_one(
    product: RunningProduct, admins: tuple[httpx.Client, httpx.Client]
) -> None:
    one, two = admins
    (before,) = product.rows("SELECT count(*) FROM models_registry_trainingrun")[0]

    got = at_once(lambda: one.post("/models/start/"), lambda: two.post("/models/start/"))

    assert [answer.status_code for answer in got] == [200, 200]
    assert product.rows("SELECT count(*) FROM models_registry_trainingrun") == [(before + 1,)]
    ((run,),) = product.rows("SELECT max(id) FROM models_registry_trainingrun")
    assert training_ended(product, run) == "done"
    chain_is_whole(product)


def test_two_promotions_at_once_are_one(
    product: RunningProduct, admins: tuple[httpx.Client, httpx.Client]
) -> None:
    """Both want the same former model back. It is moved once, and the trail says so once."""
    one, two = admins
    (number, version) = product.rows(
        "UPDATE models_registry_modelversion SET passed_at = coalesce(passed_at, now()) WHERE id = ("
        "SELECT max(id) FROM models_registry_modelversion WHERE origin = 'trained' AND id NOT IN"
        " (SELECT version_id FROM models_registry_modelalias)) RETURNING number, id"
    )[0]
    moves = "SELECT count(*) FROM models_registry_aliasmove WHERE version_id = %s AND kind = 'rolled_back'"
    trail = (
        "SELECT count(*) FROM audit_event WHERE action = 'model.rolled_back' AND object_type = 'modelversion'"
        " AND object_id = %s"
    )
    page, body = f"/models/{number}/roll-back/", {"reason": "It did better on contracts."}

    got = at_once(lambda: one.post(page, data=body), lambda: two.post(page, data=body))

    assert [answer.status_code for answer in got] == [200, 200]
    assert product.rows(moves, version) == [(1,)]
    assert product.rows(trail, str(version)) == [(1,)]
    champion = "SELECT version_id FROM models_registry_modelalias WHERE name = 'champion'"
    assert product.rows(champion) == [(version,)]
    chain_is_whole(product)
