"""What is meant to hang the product: reasons of a model, stages without an end, files of sixty thousand headings.

Nobody else waits for it, cancelling frees the worker and not the row alone, and nothing is written twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager

import httpx2 as httpx
import psutil
import pytest

from tests.fake_llm.behaviours import BEHAVIOURS
from tests.fake_llm.wire import FakeReply, FakeRequest
from tests.faults.hanging_product import REASON
from tests.faults.state import ask, chain_is_whole, document_ended, new_collection, run_ended, upload
from tests.product import RunningProduct, eventually, running_product

pytestmark = [pytest.mark.integration, pytest.mark.faults]

QUESTION = "How long are access records kept?"
RULES = b"# 1 Records\n\nAccess records are kept for seven years.\n"
#: Of the kind that held ingestion and questions of everybody for minutes.
BOMB = "".join(f"# Heading {number}\n" for number in range(60_000)).encode()


def with_reason(reason: str) -> object:
    """A model that gives this reason for every verdict."""

    def answer(request: FakeRequest) -> FakeReply | str:
        reply = BEHAVIOURS["arbiter-keywords"](request)
        text = reply if isinstance(reply, str) else reply.text
        try:
            said = json.loads(text)
        except ValueError:
            return reply
        for ranking in said.get("rankings", ()) if isinstance(said, dict) else ():
            ranking["reason"] = reason
        return json.dumps(said)

    return answer


def rows_written(product: RunningProduct, run: int) -> tuple[int, int]:
    """Verdicts of a run, and candidates with more than one."""
    return product.rows(
        "SELECT count(v.*), count(v.*) - count(DISTINCT c.id) FROM questions_candidate c"
        " JOIN questions_verdict v ON v.candidate_id = c.id WHERE c.run_id = %s",
        run,
    )[0]


def processes(product: RunningProduct) -> set[int]:
    """The processes that answer questions."""
    return {child.pid for child in psutil.Process(product.pid("questions")).children()}


def demo_is_there(product: RunningProduct) -> None:
    """The people of the demo can log in, and nothing of it is left to read."""
    waits = "SELECT count(*) FILTER (WHERE status <> 'ready'), count(*) FROM documents_document"
    eventually(
        lambda: (found := product.rows(waits)[0])[1] > 0 and found[0] == 0,
        seconds=420,
        what="the demo documents are ready",
    )


@pytest.fixture(scope="module")
def vulnerable() -> Iterator[RunningProduct]:
    with running_product({"DJANGO_SETTINGS_MODULE": "tests.faults.hanging_product.dev"}) as product:
        yield product


@contextmanager
def analyst_of(product: RunningProduct) -> Iterator[httpx.Client]:
    """An analyst of the demo, once it is there."""
    demo_is_there(product)
    with closing(product.client("analyst")) as client:
        yield client


@pytest.fixture(scope="module")
def analyst(vulnerable: RunningProduct) -> Iterator[httpx.Client]:
    with analyst_of(vulnerable) as client:
        collection = new_collection(client, "hanging")
        document = int(upload(client, collection, RULES).json()["id"])
        assert document_ended(vulnerable, document) == "ready"
        yield client


def hung(product: RunningProduct, client: httpx.Client) -> int:
    """A run whose worker reads the reason that hangs it."""
    run = ask(client, "hanging", QUESTION, strategy="arbiter")
    asked = "SELECT count(*) FROM questions_llmcall WHERE run_id = %s AND stage = 'arbitrate'"
    eventually(lambda: product.rows(asked, run)[0][0], seconds=120, what="the model has answered")
    return run


def test_cancelling_frees_workers_that_hang(vulnerable: RunningProduct, analyst: httpx.Client) -> None:
    vulnerable.fake.behave(with_reason(REASON))  # type: ignore[arg-type]
    before = eventually(
        lambda: found if len(found := processes(vulnerable)) == 2 else set(), what="the pool is there"
    )
    runs = [hung(vulnerable, analyst), hung(vulnerable, analyst)]  # as many as there are processes
    for run in runs:
        assert analyst.post(f"/api/v1/runs/{run}/cancel/").status_code in (200, 202, 204)
    vulnerable.fake.reset()

    plain = ask(analyst, "hanging", QUESTION)

    assert run_ended(vulnerable, plain) == "done"
    eventually(lambda: not before & processes(vulnerable), seconds=60, what="both hanging processes are gone")
    assert [run_ended(vulnerable, run) for run in runs] == ["cancelled", "cancelled"]
    assert [rows_written(vulnerable, run) for run in runs] == [(0, 0), (0, 0)]
    chain_is_whole(vulnerable)


def test_a_stage_that_always_hangs_fails_with_a_reason(
    vulnerable: RunningProduct, analyst: httpx.Client
) -> None:
    vulnerable.fake.behave(with_reason(REASON))  # type: ignore[arg-type]
    run = hung(vulnerable, analyst)

    assert run_ended(vulnerable, run) == "failed"

    vulnerable.fake.reset()
    reason = vulnerable.rows("SELECT failure_reason FROM questions_run WHERE id = %s", run)[0][0]
    assert "stopped its worker three times" in reason
    assert rows_written(vulnerable, run) == (0, 0)
    assert run_ended(vulnerable, ask(analyst, "hanging", QUESTION)) == "done"
    chain_is_whole(vulnerable)


def test_a_reason_written_to_hang_its_reader_is_cut_and_kept(product: RunningProduct) -> None:
    product.fake.reset()
    product.fake.behave(with_reason(REASON * 12))  # type: ignore[arg-type]
    with closing(product.client("analyst")) as client:
        run = ask(client, "demo", QUESTION, strategy="arbiter")
        assert run_ended(product, run) == "done"
    product.fake.reset()

    reasons = product.rows(
        "SELECT v.reason FROM questions_verdict v JOIN questions_candidate c ON c.id = v.candidate_id"
        " WHERE c.run_id = %s AND v.decided_by_kind = 'llm'",
        run,
    )
    assert reasons
    assert max(len(reason) for (reason,) in reasons) <= 4_000


def test_a_heading_bomb_ends_with_what_to_do(product: RunningProduct) -> None:
    with closing(product.client("analyst")) as client:
        collection = new_collection(client, "bomb")
        document = int(upload(client, collection, BOMB).json()["id"])
        assert document_ended(product, document) == "failed"
    code, reason = product.rows(
        "SELECT failure_code, failure_reason FROM documents_document WHERE id = %s", document
    )[0]
    assert code == "too_many_headings"
    assert "60,000 headings" in reason
    assert "Split it" in reason


def test_three_heading_bombs_beside_another_tenant() -> None:
    """The limits are raised, so that the bombs are read: all that others have is their turn."""
    raised = {f"MAX_DOCUMENT_{what}": "1000000" for what in ("HEADINGS", "LINES", "PASSAGES")}
    settings = {"DJANGO_SETTINGS_MODULE": "tests.integration.dev"}
    with running_product({**settings, **raised}) as product, analyst_of(product) as client:
        quiet, loud = new_collection(client, "quiet"), new_collection(client, "loud")
        bombs = [
            int(upload(client, loud, BOMB + b"\n" * number, f"bomb-{number}.md").json()["id"])
            for number in range(3)
        ]
        first = "SELECT status FROM documents_document WHERE id = %s"
        eventually(
            lambda: product.rows(first, bombs[0])[0][0] == "embedding", seconds=300, what="the first is read"
        )

        document = int(upload(client, quiet, RULES).json()["id"])
        assert document_ended(product, document) == "ready"
        assert run_ended(product, ask(client, quiet, QUESTION)) == "done"

        states = [product.rows(first, bomb)[0][0] for bomb in bombs]
        assert states[0] == "embedding", "the neighbour was served while the first bomb was still being read"
        assert states[1:] == ["queued", "queued"]
