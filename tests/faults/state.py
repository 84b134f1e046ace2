"""What a document or a run has come to, free of keys and times: two of them can be compared. And how work is stopped
at a table, so that a fault strikes in the middle of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import httpx2 as httpx
import psycopg

from tests.product import RunningProduct, eventually

State = dict[str, list[tuple[Any, ...]]]
ENDED = ("done", "failed", "cancelled")

DOCUMENT = {
    "document": "SELECT status, failure_code, kind, page_count, line_count, section_count, passage_count"
    " FROM documents_document WHERE id = %s",
    "pages": "SELECT page_num, md5(text) FROM documents_page WHERE document_id = %s ORDER BY 1",
    "sections": "SELECT ordinal, section_id, level, title FROM documents_section WHERE document_id = %s ORDER BY 1",
    "lines": "SELECT page_num, line_num, md5(text), section_id FROM documents_line WHERE document_id = %s"
    " ORDER BY 1, 2",
    "passages": "SELECT ordinal, text_hash FROM documents_passage WHERE document_id = %s ORDER BY 1",
    "vectors": "SELECT p.ordinal, md5(v.embedding::text) FROM documents_passagevector v"
    " JOIN documents_passage p ON p.id = v.passage_id WHERE v.document_id = %s ORDER BY 1",
}
RUN = {
    "run": "SELECT status, strategy, review_state, not_found, not_found_reason, confidence, needs_person, methods_run,"
    " llm_call_count, cost FROM questions_run WHERE id = %s",
    "candidates": "SELECT candidate_id, position, methods, ranks, rrf_rank, text_hash FROM questions_candidate"
    " WHERE run_id = %s ORDER BY position",
    "verdicts": "SELECT c.candidate_id, v.role, v.reason, v.decided_by_kind, v.decided_by_name, v.probability,"
    ' v.needs_person, v."order" FROM questions_verdict v JOIN questions_candidate c ON c.id = v.candidate_id'
    " WHERE c.run_id = %s ORDER BY c.position",
    "labels": "SELECT c.candidate_id, l.role, l.source, l.weight FROM labeling_label l"
    " JOIN questions_candidate c ON c.id = l.candidate_id WHERE c.run_id = %s ORDER BY c.position, l.id",
    # Which of them are looked at besides, at random, is drawn by the run's key.
    "queue": "SELECT c.candidate_id, q.state, q.stage, q.is_required, q.why::jsonb - 'random' FROM review_queueitem q"
    " LEFT JOIN questions_candidate c ON c.id = q.candidate_id WHERE q.run_id = %s ORDER BY c.position",
    # Its calls have times in them; what they cost stands below.
    "answers": "SELECT version, body::jsonb - 'calls', is_stale, evidence_hash FROM questions_answer"
    " WHERE run_id = %s ORDER BY version",
    "charges": "SELECT stage, outcome, count(*), sum(input_tokens), sum(output_tokens), sum(cost)"
    " FROM questions_llmcall WHERE run_id = %s GROUP BY 1, 2 ORDER BY 1, 2",
}
TRAIL = (
    "SELECT action, actor_kind, count(*) FROM audit_event WHERE object_type = %s AND object_id = %s"
    " GROUP BY 1, 2 ORDER BY 1"
)


def state_of_document(product: RunningProduct, key: int) -> State:
    """Rows and trail of a document."""
    return _state(product, DOCUMENT, key) | {"trail": product.rows(TRAIL, "document", str(key))}


def state_of_run(product: RunningProduct, key: int) -> State:
    """Rows and trail of a run."""
    return _state(product, RUN, key) | {"trail": product.rows(TRAIL, "run", str(key))}


def differences(found: State, undisturbed: State) -> dict[str, list[tuple[Any, ...]]]:
    """By table, the rows that only one of them has; empty where both came to the same."""
    return {
        name: [row for row in (*rows, *undisturbed[name]) if (row in rows) != (row in undisturbed[name])]
        for name, rows in found.items()
        if rows != undisturbed[name]
    }


def _state(product: RunningProduct, queries: dict[str, str], key: int) -> State:
    return {name: product.rows(query, key) for name, query in queries.items()}


def writes_held(product: RunningProduct, table: str) -> AbstractContextManager[None]:
    """Nobody can write to the table meanwhile: whoever wants to is stopped in the middle of its transaction."""
    return _held(product, table, "SHARE")


def reads_held(product: RunningProduct, table: str) -> AbstractContextManager[None]:
    """Nobody can even read the table meanwhile: whoever wants to is stopped, in a transaction or not."""
    return _held(product, table, "ACCESS EXCLUSIVE")


@contextmanager
def _held(product: RunningProduct, table: str, mode: str) -> Iterator[None]:
    connection = psycopg.connect(product.database_url())
    try:
        connection.execute(f"LOCK TABLE {table} IN {mode} MODE")
        yield
    finally:
        connection.close()  # the lock goes with it, or went with the server


def stopped_at(product: RunningProduct, table: str, *, seconds: float = 180) -> None:
    """Waits until somebody wants to have a table that is held. A worker may first have to be started again."""
    query = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = %s::regclass"
    eventually(lambda: product.rows(query, table)[0][0], seconds=seconds, what=f"somebody wants {table}")


def overtaken(product: RunningProduct, table: str, key: int, *, seconds: float = 120) -> None:
    """The clock has jumped a day ahead, so that the lease of a living worker has lapsed however often it is renewed,
    until another worker has taken the row over."""
    first = str(product.rows(f"SELECT lease_owner FROM {table} WHERE id = %s", key)[0][0])
    assert first, "nobody holds the row"

    def taken_over() -> bool:
        product.rows(
            f"UPDATE {table} SET lease_until = lease_until - interval '1 day'"
            " WHERE id = %s AND lease_owner = %s RETURNING id",
            key,
            first,
        )
        owner = product.rows(f"SELECT lease_owner FROM {table} WHERE id = %s", key)[0][0]
        return owner not in ("", first)

    eventually(taken_over, seconds=seconds, what=f"another worker takes {table} {key} over")


def new_collection(client: httpx.Client, name: str) -> str:
    """An empty collection; its slug."""
    answer = client.post("/api/v1/collections/", json={"name": name, "slug": name})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["slug"])


def upload(client: httpx.Client, collection: str, content: bytes, name: str = "rules.md") -> httpx.Response:
    """A file for a collection."""
    return client.post("/api/v1/documents/", data={"collection": collection}, files={"file": (name, content)})


def ask(client: httpx.Client, collection: str, text: str, *, strategy: str = "offline") -> int:
    """A new run's key; no cache answers it."""
    body = {"collection": collection, "text": text, "strategy": strategy, "use_cache": False}
    answer = client.post("/api/v1/questions/", json=body)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["run"]["id"])


def document_ended(product: RunningProduct, key: int, *, seconds: float = 240) -> str:
    """How a document ends."""
    query = "SELECT status FROM documents_document WHERE id = %s"
    return _ended(product, query, key, ("ready", "failed", "cancelled"), seconds)


def run_ended(product: RunningProduct, key: int, *, seconds: float = 240) -> str:
    """How a run ends."""
    return _ended(product, "SELECT status FROM questions_run WHERE id = %s", key, ENDED, seconds)


def training_ended(product: RunningProduct, key: int, *, seconds: float = 300) -> str:
    """How a training ends."""
    query = "SELECT state FROM models_registry_trainingrun WHERE id = %s"
    return _ended(product, query, key, ENDED, seconds)


def _ended(product: RunningProduct, query: str, key: int, ends: tuple[str, ...], seconds: float) -> str:
    def look() -> str:
        try:
            status = str(product.rows(query, key)[0][0])
        except psycopg.OperationalError:  # the server is being restarted
            return ""
        return status if status in ends else ""

    return eventually(look, seconds=seconds, what=f"the end of {key} by {query}")


def at_once(*acts: Callable[[], httpx.Response]) -> list[httpx.Response]:
    """All of them at the same moment."""
    gate = threading.Barrier(len(acts), timeout=120)
    found: list[httpx.Response] = []

    def do(act: Callable[[], httpx.Response]) -> None:
        gate.wait()
        found.append(act())

    threads = [threading.Thread(target=do, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    assert len(found) == len(acts)
    return found


def chain_is_whole(product: RunningProduct) -> None:
    """The audit trail verifies."""
    checked = product.manage("verify_audit", "--json")
    assert checked.returncode == 0, checked.stderr
    assert '"ok": true' in checked.stdout
