"""The product on a coordinator and two workers: read, ask, review; one worker is lost and comes back, a third joins.

The tests are one story and run in order. ``make cluster-test`` starts the nodes; without them there is nothing to do.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.files.base import ContentFile
from django.db import DatabaseError, connection, transaction
from django.test import override_settings

from tests.cluster.conftest import IS_THERE
from tests.cluster.nodes import Cluster
from tests.conftest import ROOT
from tests.product import eventually
from tests.workbench.cast import Cast, create_cast
from workbench.audit.services import audit_seal_all, audit_verify
from workbench.documents import ingest
from workbench.documents.distribution import SPREAD, node_was_away, nodes, spread
from workbench.documents.embedding import active_space
from workbench.documents.ingest import document_ingest
from workbench.documents.models import (
    WORKING_STATUSES,
    Collection,
    Document,
    DocumentStatus,
    IndexedText,
    PassageVector,
)
from workbench.documents.services import document_upload
from workbench.documents.store import _SEARCH_SETTINGS, DatabaseCandidateStore, _with_settings
from workbench.erasure.erased_text import text_erase
from workbench.review.services import candidate_approve
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import Run, RunStatus
from workbench.runs.services import question_ask

pytestmark = pytest.mark.skipif(not IS_THERE, reason="no cluster; make cluster-test starts one")

TEXTS = {
    "charter.md": "# Charter\n\n## 1 Scope\n\nThis charter binds all subsidiaries certified to ISO 27001.\n\n"
    "## 2 Retention\n\nAccess records are kept for twenty-four months. The cyber-security team keeps its own.\n",
    "payments.md": "# Payments\n\n## 1 Purpose\n\nPayment records are kept for ten years, see PR.AC-1.\n\n"
    "## 2 Limits\n\nA payment above 5,000 euros needs two signatures of the treasury.\n",
    "deletion.md": "# Deletion\n\n## 1 Backups\n\nBackups are destroyed after ninety days.\n\n"
    "## 2 Hold\n\nA legal hold stops every deletion until the counter party agrees in writing.\n",
    "people.md": "# People\n\n## 1 Leave\n\nEmployees take twenty-five days of leave a year.\n\n"
    "## 2 Notice\n\nNotice is given three months before the end of a quarter.\n",
}
QUESTIONS = [
    "How long are access records kept?",
    "Which subsidiaries are certified to ISO 27001?",
    "Who signs a payment above 5,000 euros?",
    "When are backups destroyed?",
    "What stops a deletion?",
    "How many days of leave do employees take?",
    "What does PR.AC-1 concern?",
    "Does the cybersecurity team keep records?",
    "What is the notice period at the end of a quarter?",
    "Which unicorns owe stamp duty?",
]


@pytest.fixture(scope="module")
def cast(_here: None) -> Cast:
    return create_cast()


def upload(cast: Cast, name: str, text: str) -> Document:
    file = ContentFile(text.encode())
    return document_upload(actor=cast.analyst, collection=cast.alpha, file=file, name=name).document


def read(document: Document) -> Document:
    document_ingest(document_id=document.pk)
    document.refresh_from_db()
    return document


def ask(cast: Cast, text: str) -> Run:
    return question_ask(
        actor=cast.analyst, collection=cast.alpha, text=text, strategy="offline", use_cache=False
    ).run


def asked(cast: Cast, text: str) -> Run:
    run = ask(cast, text)
    for stage in (run_detect, run_arbitrate, run_answer):
        stage(run_id=run.pk)
    run.refresh_from_db()
    return run


def found(run: Run) -> set[str]:
    return set(run.candidates.values_list("candidate_id", flat=True))


def owner(statement: str) -> None:
    with psycopg.connect(_owner_url(), autocommit=True) as session:
        session.execute(statement)


def _owner_url() -> str:
    return os.environ["CLUSTER_OWNER_URL"]


def manage(*words: str) -> str:
    env = os.environ | {"DATABASE_URL": _owner_url(), "TEST_DATABASE_URL": _owner_url()}
    command = [sys.executable, "manage.py", *words]
    done = subprocess.run(command, cwd=ROOT, env=env, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_documents_are_read_and_their_parts_lie_on_both_nodes(cast: Cast, cluster: Cluster) -> None:
    assert spread() == set(SPREAD)

    documents = [read(upload(cast, name, text)) for name, text in TEXTS.items()]

    assert [document.status for document in documents] == [DocumentStatus.READY] * len(TEXTS)
    assert PassageVector.objects.count() == sum(document.passage_count for document in documents)
    assert IndexedText.objects.filter(kind=1).count() == PassageVector.objects.count()
    held = {node.name: node.shards for node in nodes()}
    assert sorted(held.values()) == [8, 8]


def test_the_cluster_gives_the_answers_of_a_single_node(cast: Cast) -> None:
    """The same candidates as with the index of words on this host, and what is absent is proved absent."""
    for question in QUESTIONS:
        on_cluster = asked(cast, question)
        with override_settings(SEARCH_BACKEND="embedded"):
            on_host = asked(cast, question)
        assert on_cluster.status == on_host.status == RunStatus.DONE, question
        assert found(on_cluster) == found(on_host), question
        assert on_cluster.not_found_reason == on_host.not_found_reason, question
    counts = store(cast).count_hits(["unicorns", "stamp duty", "ISO 27002", "ISO 27001", "cybersecurity"])
    assert {term for term, count in counts.items() if count} == {"ISO 27001", "cybersecurity"}


def test_the_nodes_search_vectors_with_the_settings_of_the_search(cast: Cast, cluster: Cluster) -> None:
    """The walk of the graph is on the nodes, and so must be what it keeps in sight."""
    names = ("port", "hnsw.ef_search", "hnsw.iterative_scan")
    query = f"SELECT {', '.join(f'current_setting({name!r})' for name in names)} FROM documents_passagevector"

    seen = set(_with_settings(_SEARCH_SETTINGS.format(ef_search=123), query, []))

    assert seen == {(str(node.port), "123", "relaxed_order") for node in cluster.workers}


def test_a_person_decides_and_the_trail_verifies(cast: Cast) -> None:
    run = asked(cast, QUESTIONS[0])
    candidate = run.candidates.filter(verdict__role__isnull=False).first()

    candidate_approve(actor=cast.reviewer, candidate=candidate)

    audit_seal_all()
    assert audit_verify().ok
    for statement in (
        "UPDATE audit_event SET reason = 'x'",
        "DELETE FROM audit_seal",
        "TRUNCATE audit_event CASCADE",
    ):
        with pytest.raises(psycopg.Error, match=r"append|permission|refuse|may not|never|not be"):
            owner(statement)


def test_a_legal_hold_holds_and_what_was_made_of_a_passage_goes_with_it(cast: Cast) -> None:
    document = read(upload(cast, "held.md", "# Held\n\n## 1 Words\n\nThe zebra clause is kept.\n"))
    assert store(cast).count_hits(["zebra"])["zebra"] > 0
    owner_sql = f"DELETE FROM documents_passage WHERE document_id = {document.pk}"
    with psycopg.connect(_owner_url()) as session:
        session.execute(owner_sql)
        (left,) = session.execute(
            "SELECT count(*) FROM documents_passagevector WHERE document_id = %s", [document.pk]
        ).fetchone()
        assert left == 0
        session.rollback()
    with (  # noqa: PT012
        pytest.raises(DatabaseError, match="legal hold"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        # Without its event a hold is refused at the end of the transaction; here it never comes to that.
        cursor.execute("UPDATE documents_collection SET legal_hold = true WHERE id = %s", [cast.alpha.pk])
        cursor.execute(owner_sql)

    with transaction.atomic():
        text_erase(document)
    Document.objects.filter(pk=document.pk).update(status=DocumentStatus.CANCELLED)
    assert not any(_left_of(document).values())


def test_a_lost_node_fails_questions_with_a_reason_and_documents_wait(
    cast: Cast, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = cluster.workers[1]
    late = [
        upload(
            cast, f"late{number}.md", f"# Late\n\n## {number} Words\n\nThe late clause {number} is kept.\n"
        )
        for number in range(8)
    ]
    in_the_middle, *afterwards = (ask(cast, text) for text in QUESTIONS[:3])
    try:
        with monkeypatch.context() as patch:  # the vectors are written, and not committed yet
            patch.setattr(ingest, "vectors_write", _then(ingest.vectors_write, lost.kill))
            read_before = [document for document in late if _read_or_waits(document)]
        waiting = [document for document in late if document not in read_before]
        assert waiting, "no document lay on the lost node"
        for _ in range(4):  # more often than attempts are counted
            assert not _read_or_waits(waiting[0])
        for document in waiting:
            document.refresh_from_db()
            assert document.status in WORKING_STATUSES
            assert document.attempts == 0
        for run in afterwards:
            _fails_with_a_reason(run)
        lost.start()
        connection.close()
        with monkeypatch.context() as patch:  # the words are found, and the nearest vectors not yet
            patch.setattr(DatabaseCandidateStore, "vector", _first(lost.kill, DatabaseCandidateStore.vector))
            _fails_with_a_reason(in_the_middle)
    finally:
        lost.ensure()
        connection.close()

    for document in late:
        eventually(lambda document=document: _read_or_waits(document), what="the document is read")
    assert len(read_before) < len(late)
    assert store(cast).count_hits(["late clause"])["late clause"] >= len(late)
    assert asked(cast, QUESTIONS[0]).status == RunStatus.DONE
    audit_seal_all()
    assert audit_verify().ok


def _then(inner: Callable[..., Any], act: Callable[[], None]) -> Callable[..., Any]:
    """The function, and after its first call the act."""
    acts = [act]

    def call(*args: Any, **kwargs: Any) -> Any:
        result = inner(*args, **kwargs)
        while acts:
            acts.pop()()
        return result

    return call


def _first(act: Callable[[], None], inner: Callable[..., Any]) -> Callable[..., Any]:
    """The function, and before its first call the act."""
    acts = [act]

    def call(*args: Any, **kwargs: Any) -> Any:
        while acts:
            acts.pop()()
        return inner(*args, **kwargs)

    return call


def _fails_with_a_reason(run: Run) -> None:
    run_detect(run_id=run.pk)
    run.refresh_from_db()
    assert run.status == RunStatus.FAILED
    assert "node of the database" in run.failure_reason
    assert run.not_found_reason == ""


def test_a_third_node_joins_while_questions_run(cast: Cast, cluster: Cluster) -> None:
    before = {text: found(asked(cast, text)) for text in QUESTIONS[:3]}
    cluster.add()
    ended = threading.Event()
    problems: list[str] = []

    def ask_on() -> None:
        try:
            while not ended.is_set():
                for text, expected in before.items():
                    run = asked(cast, text)
                    if found(run) != expected:
                        problems.append(f"{text}: {run.status} {run.failure_reason}")
        finally:
            connection.close()

    asker = threading.Thread(target=ask_on)
    asker.start()
    try:
        said = manage("distribute", "--rebalance")
    finally:
        ended.set()
        asker.join(120)

    assert problems == []
    assert sorted(node.shards for node in nodes()) == [4, 4, 8], said
    assert {text: found(asked(cast, text)) for text in before} == before
    audit_seal_all()
    assert audit_verify().ok


def test_vectors_of_documents_of_before_can_be_made_anew(cast: Cast) -> None:
    PassageVector.objects.filter(document=Document.objects.ready().first()).delete()

    said = manage("reembed", "--json")

    assert '"left": 0' in said
    assert PassageVector.objects.count() == sum(
        Document.objects.ready().values_list("passage_count", flat=True)
    )


def test_a_backup_of_the_cluster_restores_into_it(cast: Cast, tmp_path: Path) -> None:
    """As into any installation: the spread tables are emptied and filled through the coordinator."""
    before = {text: found(asked(cast, text)) for text in QUESTIONS[:3]}
    vectors = PassageVector.objects.count()
    manage("backup", str(tmp_path / "backup"))
    late = read(upload(cast, "gone.md", "# Gone\n\n## 1 Words\n\nThe gone clause is not kept.\n"))

    manage("restore", str(tmp_path / "backup"), "--replace")

    connection.close()
    assert spread() == set(SPREAD)
    assert not Document.objects.filter(pk=late.pk).exists()
    assert PassageVector.objects.count() == vectors
    assert store(cast).count_hits(["gone clause"])["gone clause"] == 0
    assert {text: found(asked(cast, text)) for text in before} == before
    audit_seal_all()
    assert audit_verify().ok


def test_an_older_cluster_is_migrated_and_new_tables_are_spread(cast: Cast) -> None:
    """Of before words were in the database: the vectors are spread already, and the tables of words are new."""
    before = {text: found(asked(cast, text)) for text in QUESTIONS[:3]}
    manage("migrate", "documents", "0017", "--noinput")
    assert spread() == {"documents_passagevector", "documents_passagetokens"}

    manage("migrate", "--noinput")
    manage("search_backend", "database")
    manage("distribute")

    connection.close()
    assert spread() == set(SPREAD)
    assert {text: found(asked(cast, text)) for text in before} == before
    audit_seal_all()
    assert audit_verify().ok


def store(cast: Cast) -> DatabaseCandidateStore:
    return DatabaseCandidateStore(collection=Collection.objects.get(pk=cast.alpha.pk), space=active_space())


def _read_or_waits(document: Document) -> bool:
    """Whether the document was read; False when its node is away."""
    try:
        return read(document).status == DocumentStatus.READY
    except DatabaseError as error:
        if not node_was_away(error):
            raise
        connection.close()
        return False


def _left_of(document: Document) -> dict[str, int]:
    left = {}
    with connection.cursor() as cursor:
        for table in (*SPREAD, "documents_indexeddocument", "documents_passage", "documents_line"):
            cursor.execute(f"SELECT count(*) FROM {table} WHERE document_id = %s", [document.pk])
            left[table] = cursor.fetchone()[0]
    return left
