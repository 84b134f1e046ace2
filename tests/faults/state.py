"""What a document or a run has come to, free of keys and times: two of them can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
    "queue": "SELECT c.candidate_id, q.state, q.stage, q.is_required, q.why FROM review_queueitem q"
    " LEFT JOIN questions_candidate c ON c.id = q.candidate_id WHERE q.run_id = %s ORDER BY c.position",
    "answers": "SELECT version, body, is_stale, evidence_hash FROM questions_answer WHERE run_id = %s ORDER BY version",
    "charges": "SELECT stage, outcome, count(*) FROM questions_llmcall WHERE run_id = %s GROUP BY 1, 2 ORDER BY 1, 2",
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


def _state(product: RunningProduct, queries: dict[str, str], key: int) -> State:
    return {name: product.rows(query, key) for name, query in queries.items()}


@contextmanager
def writes_held(product: RunningProduct, table: str) -> Iterator[None]:
    """Nobody can write to the table meanwhile: whoever wants to is stopped in the middle of its transaction."""
    with psycopg.connect(product.database_url()) as connection:
        connection.execute(f"LOCK TABLE {table} IN SHARE MODE")
        try:
            yield
        finally:
            connection.rollback()


def stopped_at(product: RunningProduct, table: str, *, seconds: float = 90) -> None:
    """Waits until somebody wants to write to a table that is held."""
    query = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = %s::regclass"
    eventually(lambda: product.rows(query, table)[0][0], seconds=seconds, what=f"somebody writes to {table}")


def new_collection(client: httpx.Client, name: str) -> str:
    """An empty collection; its slug."""
    answer = client.post("/api/v1/collections/", json={"name": name, "slug": name})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["slug"])


def upload(client: httpx.Client, collection: str, content: bytes, name: str = "rules.md") -> httpx.Response:
    """A file for a collection."""
    return client.post("/api/v1/documents/", data={"collection": collection}, files={"file": (name, content)})


def ask(client: httpx.Client, collection: str, text: str, *, strategy: str = "offline") -> int:
    """A new run's key."""
    body = {"collection": collection, "text": text, "strategy": strategy, "use_cache": False}
    answer = client.post("/api/v1/questions/", json=body)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["run"]["id"])


def document_ended(product: RunningProduct, key: int, *, seconds: float = 150) -> str:
    """How a document ends."""
    return _ended(product, "documents_document", key, ("ready", "failed", "cancelled"), seconds)


def run_ended(product: RunningProduct, key: int, *, seconds: float = 150) -> str:
    """How a run ends."""
    return _ended(product, "questions_run", key, ENDED, seconds)


def _ended(product: RunningProduct, table: str, key: int, ends: tuple[str, ...], seconds: float) -> str:
    def look() -> str:
        try:
            status = str(product.rows(f"SELECT status FROM {table} WHERE id = %s", key)[0][0])
        except psycopg.OperationalError:  # the server is being restarted
            return ""
        return status if status in ends else ""

    return eventually(look, seconds=seconds, what=f"{table} {key} ends")


def chain_is_whole(product: RunningProduct) -> None:
    """The audit trail verifies."""
    checked = product.manage("verify_audit", "--json")
    assert checked.returncode == 0, checked.stderr
    assert '"ok": true' in checked.stdout
