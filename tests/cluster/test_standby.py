"""A worker node with a plain streaming standby: the node is lost, the standby is promoted by hand and takes its place.

Runs after the other files of the folder or without them; the cluster goes on with the standby as its first worker.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.files.base import ContentFile
from django.db import connection

from tests.cluster.conftest import IS_THERE
from tests.cluster.nodes import Cluster, Node
from tests.product import eventually
from workbench.accounts.models import MemberRole, Membership, User
from workbench.audit.services import audit_seal_all, audit_verify
from workbench.documents.distribution import nodes
from workbench.documents.embedding import active_space
from workbench.documents.ingest import document_ingest
from workbench.documents.models import Collection, DocumentStatus, PassageVector
from workbench.documents.services import document_upload
from workbench.documents.store import DatabaseCandidateStore
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import Run, RunStatus
from workbench.runs.services import question_ask
from workbench.stack import ports

pytestmark = pytest.mark.skipif(not IS_THERE, reason="no cluster; make cluster-test starts one")

#: Enough documents that some lie on each node.
CLAUSES = {number: f"Record {number} is kept for {number + 2} years by the archive." for number in range(12)}
QUESTIONS = ["How long is record 3 kept?", "Who keeps record 7?", "Which unicorns owe stamp duty?"]


@pytest.fixture(scope="module")
def person() -> User:
    return User.objects.create(email="standby@example.org", name="Standby")


@pytest.fixture(scope="module")
def collection(person: User, _here: None) -> Collection:
    collection = Collection.objects.create(slug="standby", name="Standby")
    for role in (MemberRole.ADMIN, MemberRole.ANALYST):
        Membership.objects.create(user=person, collection=collection, role=role)
    return collection


@pytest.fixture
def standby(cluster: Cluster) -> Iterator[Node]:
    """Of the first worker, which streams to it."""
    worker = cluster.workers[0]
    node = Node(worker.programs, worker.folder.with_name("standby"), ports.free_port(ports.LOOPBACK))
    node.follow(worker)
    node.start()
    try:
        yield node
    finally:
        if node not in cluster.workers and (node.folder / "postmaster.pid").exists():
            node.kill()


def test_a_promoted_standby_gives_the_same_answers(
    person: User, collection: Collection, cluster: Cluster, standby: Node
) -> None:
    lost = cluster.workers[0]
    for number, clause in CLAUSES.items():
        assert _read(person, collection, number, clause) == DocumentStatus.READY
    before = {text: _told(_asked(person, collection, text)) for text in QUESTIONS}
    vectors, shards = PassageVector.objects.count(), {node.name: node.shards for node in nodes()}
    ((position,),) = lost.execute("SELECT pg_current_wal_insert_lsn()::text")
    replayed = f"SELECT pg_last_wal_replay_lsn() >= '{position}'"
    eventually(lambda: standby.execute(replayed) == [(True,)], what="the standby has replayed it all")

    lost.kill()
    connection.close()
    failed = _asked(person, collection, QUESTIONS[0])
    assert failed.status == RunStatus.FAILED
    assert "node of the database" in failed.failure_reason

    standby.promote()
    cluster.coordinator.execute(
        f"SELECT citus_update_node(nodeid, '127.0.0.1', {standby.port}) FROM pg_dist_node WHERE nodeport = {lost.port}"
    )
    cluster.workers[0] = standby
    connection.close()

    assert {text: _told(_asked(person, collection, text)) for text in QUESTIONS} == before
    assert PassageVector.objects.count() == vectors
    assert sorted(node.shards for node in nodes()) == sorted(shards.values())
    store = DatabaseCandidateStore(collection=collection, space=active_space())
    counts = store.count_hits(["unicorns", "archive"])
    assert {term for term, count in counts.items() if count} == {"archive"}
    for number in range(100, 108):  # it takes writes, too
        assert _read(person, collection, number, f"Late record {number} is kept.") == DocumentStatus.READY
    assert store.count_hits(["late record"])["late record"] >= 8
    audit_seal_all()
    assert audit_verify().ok


def _read(person: User, collection: Collection, number: int, clause: str) -> str:
    file = ContentFile(f"# Records {number}\n\n## {number} Retention\n\n{clause}\n".encode())
    document = document_upload(actor=person, collection=collection, file=file, name=f"r{number}.md").document
    document_ingest(document_id=document.pk)
    document.refresh_from_db()
    return document.status


def _asked(person: User, collection: Collection, text: str) -> Run:
    run = question_ask(
        actor=person, collection=collection, text=text, strategy="offline", use_cache=False
    ).run
    for stage in (run_detect, run_arbitrate, run_answer):
        stage(run_id=run.pk)
    run.refresh_from_db()
    return run


def _told(run: Run) -> tuple[str, set[str], str]:
    """How it ended, its candidates, and what was proved absent."""
    return run.status, set(run.candidates.values_list("candidate_id", flat=True)), run.not_found_reason
