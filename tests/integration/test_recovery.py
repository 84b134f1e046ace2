"""What is lost on the way is found again: killed workers, a broker that is down."""

from __future__ import annotations

import httpx2 as httpx
import pytest

from tests.fake_llm.script import Latency
from tests.product import RunningProduct, eventually

pytestmark = pytest.mark.integration

ENDED = ("done", "failed", "cancelled")


def ask(client: httpx.Client, text: str, *, strategy: str = "offline") -> int:
    """A new run's key."""
    answer = client.post(
        "/api/v1/questions/",
        json={"collection": "demo", "text": text, "strategy": strategy, "use_cache": False},
    )
    assert answer.status_code == 201, answer.text
    return int(answer.json()["run"]["id"])


def ended(product: RunningProduct, run: int, *, seconds: float = 60) -> str:
    """The status in which a run ends."""
    return eventually(
        lambda: next(
            (s for (s,) in product.rows("SELECT status FROM questions_run WHERE id = %s", run) if s in ENDED),
            "",
        ),
        seconds=seconds,
        what=f"run {run} ends",
    )


def status(product: RunningProduct, run: int) -> str:
    """A run's status now."""
    return str(product.rows("SELECT status FROM questions_run WHERE id = %s", run)[0][0])


def assert_each_verdict_once(product: RunningProduct, run: int) -> None:
    """Every candidate has one verdict, no verdict two candidates, and the run one end on record."""
    candidates, verdicts, items = product.rows(
        """SELECT count(c.id), count(v.candidate_id), count(q.id) FROM questions_candidate c
           LEFT JOIN questions_verdict v ON v.candidate_id = c.id
           LEFT JOIN review_queueitem q ON q.candidate_id = c.id WHERE c.run_id = %s""",
        run,
    )[0]
    assert candidates == verdicts == items > 0
    finished = product.rows(
        "SELECT count(*) FROM audit_event WHERE action = 'run.finished' AND object_id = %s",
        str(run),
    )
    assert finished[0][0] == 1


def test_a_run_survives_the_kill_of_its_worker(product: RunningProduct) -> None:
    product.fake.reset()
    product.fake.slow(Latency(fixed_ms=8000, per_prompt_token_ms=0, per_completion_token_ms=0))
    run = ask(product.client("analyst"), "How long are access records kept?", strategy="arbiter")
    eventually(lambda: status(product, run) == "arbitrating", what="the model is being asked")
    old = product.kill("worker")
    product.fake.reset()
    assert ended(product, run) == "done"
    assert product.pid("worker") != old
    assert_each_verdict_once(product, run)


def test_a_question_asked_while_the_broker_is_down_runs_when_it_is_back(product: RunningProduct) -> None:
    client = product.client("analyst")
    old = product.kill("valkey")
    run = ask(client, "Who approves exceptions to the policy?")
    assert ended(product, run) == "done"
    assert product.pid("valkey") != old
    assert_each_verdict_once(product, run)


def test_the_chain_is_whole_after_all_that(product: RunningProduct) -> None:
    checked = product.manage("verify_audit", "--json")
    assert checked.returncode == 0, checked.stderr
    assert '"ok": true' in checked.stdout
