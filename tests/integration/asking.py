"""Questions put to the running product by its API, and what its database says of their runs."""

from __future__ import annotations

import httpx2 as httpx

from tests.product import RunningProduct, eventually

ENDED = ("done", "failed", "cancelled")


def ask(client: httpx.Client, text: str, *, strategy: str = "offline", document: int | None = None) -> int:
    """A new run's key."""
    asked = {
        "collection": "demo",
        "text": text,
        "strategy": strategy,
        "use_cache": False,
        "document": document,
    }
    answer = client.post("/api/v1/questions/", json=asked)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["run"]["id"])


def status(product: RunningProduct, run: int) -> str:
    """A run's status now."""
    return str(product.rows("SELECT status FROM questions_run WHERE id = %s", run)[0][0])


def ended(product: RunningProduct, run: int, *, seconds: float = 240) -> str:
    """The status in which a run ends."""
    return eventually(
        lambda: now if (now := status(product, run)) in ENDED else "", seconds=seconds, what=f"run {run} ends"
    )


def why_failed(product: RunningProduct, run: int) -> str:
    """The reason on a run's record, for a failing test to show."""
    return str(product.rows("SELECT failure_reason FROM questions_run WHERE id = %s", run)[0][0])


def assert_each_verdict_once(product: RunningProduct, run: int) -> None:
    """Every candidate has one verdict and one card, and the run one end on record."""
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
