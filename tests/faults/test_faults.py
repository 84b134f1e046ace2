"""Faults in the middle of work, in a product that really runs: each ends as the undisturbed run does.

A stage is met exactly: the table it writes to is held, so that its worker stands still inside the transaction, and
then the fault strikes. What comes of it is compared, table by table, with what came of the same work undisturbed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx2 as httpx
import psutil
import pytest

from tests.faults.state import (
    State,
    ask,
    at_once,
    chain_is_whole,
    differences,
    document_ended,
    new_collection,
    overtaken,
    reads_held,
    run_ended,
    state_of_document,
    state_of_run,
    stopped_at,
    upload,
    writes_held,
)
from tests.product import RunningProduct, eventually

pytestmark = [pytest.mark.integration, pytest.mark.faults]

RULES = "\n\n".join(
    f"# {number} Rule {number}\n\nRecords of kind {number} are kept for {number + 2} years."
    f" The keeper of kind {number} deletes them within thirty days after that."
    for number in range(1, 13)
).encode()
QUESTION = "How long are records of kind 7 kept?"
#: A stage, and the table whose writing is in the middle of it.
INGEST = {
    "parsed": "documents_page",
    "storing": "documents_passage",
    "embedding": "documents_passagevector",
}
RUN = {
    "detecting": "questions_candidate",
    "arbitrating": "questions_verdict",
    "answering": "questions_answer",
}
Fault = Callable[[RunningProduct], object]


def kill_worker(product: RunningProduct) -> None:
    """The machine of the worker dies."""
    product.kill_workers()


def kill_broker(product: RunningProduct) -> None:
    """The broker goes away and comes back without what it held in memory."""
    product.kill("valkey")


def kill_database(product: RunningProduct) -> None:
    """PostgreSQL dies with everybody's transactions, and recovers."""
    product.kill("postgres")
    eventually(lambda: answers(product), seconds=300, what="the database is back")


def drop_connections(product: RunningProduct) -> None:
    """Every connection of the product is cut."""
    product.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'workbench_app'")


def answers(product: RunningProduct) -> bool:
    """Whether the product can do its work."""
    try:
        return httpx.get(f"{product.address}/readyz", timeout=20).status_code == 200
    except httpx.HTTPError:
        return False


@pytest.fixture(scope="module")
def analyst(product: RunningProduct) -> Iterator[httpx.Client]:
    with closing(product.client("analyst")) as client:
        yield client


@pytest.fixture(scope="module")
def quiet(product: RunningProduct, analyst: httpx.Client) -> tuple[State, State]:
    """A document and a run that nothing disturbed."""
    collection = new_collection(analyst, "quiet")
    document = int(upload(analyst, collection, RULES).json()["id"])
    assert document_ended(product, document) == "ready"
    run = ask(analyst, collection, QUESTION)
    assert run_ended(product, run) == "done"
    return state_of_document(product, document), state_of_run(product, run)


def struck_document(
    product: RunningProduct, client: httpx.Client, name: str, table: str, fault: Fault
) -> State:
    collection = new_collection(client, name)
    with writes_held(product, table):
        document = int(upload(client, collection, RULES).json()["id"])
        stopped_at(product, table)
        fault(product)
    assert document_ended(product, document) == "ready"
    return state_of_document(product, document)


def struck_run(
    product: RunningProduct, client: httpx.Client, table: str, fault: Fault, *, strategy: str = "offline"
) -> State:
    with writes_held(product, table):
        run = ask(client, "quiet", QUESTION, strategy=strategy)
        stopped_at(product, table)
        fault(product)
    assert run_ended(product, run) == "done"
    return state_of_run(product, run)


def stages(tables: dict[str, str], often: str) -> list[object]:
    """Parameters: one stage in the ordinary run, all of them in ``make faults``."""
    return [pytest.param(name, marks=() if name == often else pytest.mark.faults) for name in tables]


@pytest.mark.parametrize("stage", stages(INGEST, "embedding"))
def test_a_worker_killed_while_it_reads_a_document(
    stage: str, product: RunningProduct, analyst: httpx.Client, quiet: tuple[State, State]
) -> None:
    assert (
        differences(struck_document(product, analyst, f"kill-{stage}", INGEST[stage], kill_worker), quiet[0])
        == {}
    )
    chain_is_whole(product)


@pytest.mark.parametrize("stage", stages(RUN, "arbitrating"))
def test_a_worker_killed_while_it_answers(
    stage: str, product: RunningProduct, analyst: httpx.Client, quiet: tuple[State, State]
) -> None:
    assert differences(struck_run(product, analyst, RUN[stage], kill_worker), quiet[1]) == {}
    chain_is_whole(product)


@pytest.mark.faults
@pytest.mark.parametrize("fault", [kill_broker, drop_connections], ids=lambda fault: fault.__name__)
def test_what_else_may_strike_a_document(
    fault: Fault, product: RunningProduct, analyst: httpx.Client, quiet: tuple[State, State]
) -> None:
    name = f"document-{fault.__name__.replace('_', '-')}"
    assert differences(struck_document(product, analyst, name, INGEST["embedding"], fault), quiet[0]) == {}
    chain_is_whole(product)


@pytest.mark.parametrize(
    "fault",
    [pytest.param(kill_broker, marks=pytest.mark.faults), drop_connections],
    ids=lambda fault: fault.__name__,
)
def test_what_else_may_strike_a_run(
    fault: Fault, product: RunningProduct, analyst: httpx.Client, quiet: tuple[State, State]
) -> None:
    assert differences(struck_run(product, analyst, RUN["arbitrating"], fault), quiet[1]) == {}
    chain_is_whole(product)


@pytest.mark.faults
def test_the_database_dies_in_the_middle_of_a_run(
    product: RunningProduct, analyst: httpx.Client, quiet: tuple[State, State]
) -> None:
    assert differences(struck_run(product, analyst, RUN["arbitrating"], kill_database), quiet[1]) == {}
    chain_is_whole(product)


@pytest.mark.faults
def test_the_clock_jumps_while_a_document_is_read(
    product: RunningProduct, analyst: httpx.Client, quiet: tuple[State, State]
) -> None:
    """Two workers read it then, both alive. One of them writes."""
    collection = new_collection(analyst, "clock")
    with writes_held(product, INGEST["embedding"]):
        document = int(upload(analyst, collection, RULES).json()["id"])
        stopped_at(product, INGEST["embedding"])
        overtaken(product, "documents_document", document)
    assert document_ended(product, document) == "ready"
    assert differences(state_of_document(product, document), quiet[0]) == {}
    chain_is_whole(product)


@pytest.mark.faults
def test_the_clock_jumps_while_a_run_searches(
    product: RunningProduct, analyst: httpx.Client, quiet: tuple[State, State]
) -> None:
    with reads_held(product, "documents_passagevector"):
        run = ask(analyst, "quiet", QUESTION)
        stopped_at(product, "documents_passagevector")
        overtaken(product, "questions_run", run)
    assert run_ended(product, run) == "done"
    assert differences(state_of_run(product, run), quiet[1]) == {}
    chain_is_whole(product)


@pytest.mark.faults
def test_a_worker_killed_when_the_model_has_answered_does_not_pay_twice(
    product: RunningProduct, analyst: httpx.Client, quiet: tuple[State, State]
) -> None:
    product.fake.reset()
    assert run_ended(product, ask(analyst, "quiet", QUESTION, strategy="arbiter")) == "done"  # with the probe
    run = ask(analyst, "quiet", QUESTION, strategy="arbiter")
    assert run_ended(product, run) == "done"
    undisturbed = state_of_run(product, run)
    assert undisturbed["charges"]

    struck = struck_run(product, analyst, RUN["arbitrating"], kill_worker, strategy="arbiter")

    assert differences(struck, undisturbed) == {}
    chain_is_whole(product)


def test_a_full_disk_refuses_the_upload_and_keeps_nothing(
    product: RunningProduct, analyst: httpx.Client, quiet: tuple[State, State]
) -> None:
    """The web processes may write files of half a megabyte at most, as if the disk were full."""
    collection = new_collection(analyst, "full-disk")
    large = RULES + b"\n\n" + b"More words of no weight. " * 60_000
    processes = [psutil.Process(product.pid("web"))]
    processes += processes[0].children(recursive=True)
    before = files_of(product)
    limits = [process.rlimit(psutil.RLIMIT_FSIZE) for process in processes]
    try:
        for process, (_soft, hard) in zip(processes, limits, strict=True):
            process.rlimit(psutil.RLIMIT_FSIZE, (512 * 1024, hard))
        refused = upload(analyst, collection, large)
    finally:
        for process, limit in zip(processes, limits, strict=True):
            process.rlimit(psutil.RLIMIT_FSIZE, limit)
    assert refused.status_code == 503, refused.text
    assert refused.json()["code"] == "not_stored"
    assert product.rows("SELECT count(*) FROM documents_document d JOIN documents_collection c"
                        " ON c.id = d.collection_id WHERE c.slug = 'full-disk'") == [(0,)]  # fmt: skip
    assert files_of(product) == before

    document = int(upload(analyst, collection, RULES).json()["id"])
    assert document_ended(product, document) == "ready"
    assert differences(state_of_document(product, document), quiet[0]) == {}
    chain_is_whole(product)


def files_of(product: RunningProduct) -> list[Path]:
    """Everything in the file store."""
    return sorted(path for path in product.home.files.rglob("*") if path.is_file())


def test_two_identical_uploads_at_once_are_one_document(
    product: RunningProduct, analyst: httpx.Client, quiet: tuple[State, State]
) -> None:
    collection = new_collection(analyst, "twice")
    with closing(product.client("analyst")) as other:
        got = at_once(lambda: upload(analyst, collection, RULES), lambda: upload(other, collection, RULES))
    assert sorted(answer.status_code for answer in got) == [200, 201]
    (key,) = {int(answer.json()["id"]) for answer in got}
    assert document_ended(product, key) == "ready"
    assert differences(state_of_document(product, key), quiet[0]) == {}


def test_two_reviewers_on_one_card_at_once(product: RunningProduct, quiet: tuple[State, State]) -> None:
    """One decision stands; the other person is told who was quicker."""
    with closing(product.client("analyst")) as client:
        run = ask(client, "demo", "How long are access records kept?")
    assert run_ended(product, run) == "done"
    key, role = product.rows(
        "SELECT c.id, v.role FROM questions_candidate c JOIN questions_verdict v ON v.candidate_id = c.id"
        " WHERE c.run_id = %s AND v.role IS NOT NULL ORDER BY c.position LIMIT 1",
        run,
    )[0]
    other = "discarded" if role != "discarded" else "primary"
    approve = {"candidate": key, "action": "approve"}
    override = {"candidate": key, "action": "override", "role": other, "reason_code": "wrong_role"}
    with closing(product.client("reviewer")) as one, closing(product.client("reviewer2")) as two:
        got = at_once(
            lambda: one.post("/api/v1/reviews/", json=approve),
            lambda: two.post("/api/v1/reviews/", json=override),
        )
    assert sorted(answer.status_code for answer in got) == [201, 409], [answer.text for answer in got]
    (standing,) = product.rows("SELECT action FROM review_review WHERE candidate_id = %s", key)
    (label,) = product.rows("SELECT count(*) FROM labeling_label WHERE candidate_id = %s", key)
    assert standing[0] in {"approve", "override"}
    assert label == (1,)
    chain_is_whole(product)
