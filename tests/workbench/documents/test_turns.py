"""Whose file is read next: no tenant's files hold up another tenant's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from kombu import Connection

from tests.workbench.cast import Cast
from workbench.documents import ingest, tasks
from workbench.documents.likeness import earlier_documents_sketch
from workbench.documents.models import Collection, Document, DocumentStatus
from workbench.documents.turns import a_file_waits, turn_take
from workbench.infra.leases import new_owner

Files = Callable[[Collection, int], list[int]]


@pytest.fixture
def files(cast: Cast) -> Files:
    """Files of a collection that wait, oldest first; their keys."""

    def make(collection: Collection, count: int) -> list[int]:
        made = Document.objects.count()
        return [
            Document.objects.create(
                collection=collection,
                sha256=f"{number:064d}",
                name=f"{number}.md",
                size=1,
                uploaded_by=cast.analyst,
            ).pk
            for number in range(made, made + count)
        ]

    return make


def take() -> int | None:
    return turn_take(owner=new_owner())


def done(key: int) -> None:
    Document.objects.filter(pk=key).update(
        status=DocumentStatus.READY, lease_owner="", lease_until=None, finished_at=Now()
    )


def test_a_hundred_files_of_one_collection_leave_a_place_to_another(cast: Cast, files: Files) -> None:
    bombs = files(cast.alpha, 5)
    assert take() == bombs[0]
    assert take() is None, "its second file waits although a place is free"

    (other,) = files(cast.beta, 1)
    assert take() == other
    assert take() is None, "the machine has enough in hand"


def test_collections_take_turns(cast: Cast, files: Files) -> None:
    ours, theirs = files(cast.alpha, 3), files(cast.beta, 2)
    order = []
    while (key := take()) is not None:
        order.append(key)
        done(key)

    assert order == [ours[0], theirs[0], ours[1], theirs[1], ours[2]]


def test_a_file_whose_worker_is_gone_waits_again_and_counts_nowhere(cast: Cast, files: Files) -> None:
    (key,) = files(cast.alpha, 1)
    assert take() == key
    Document.objects.filter(pk=key).update(lease_until=Now() - timedelta(seconds=1))

    assert take() == key


def test_other_machines_have_places_of_their_own(cast: Cast, files: Files) -> None:
    first, second = files(cast.alpha, 2)
    Document.objects.filter(pk=first).update(
        lease_owner="another-machine:1:x", lease_until=Now() + timedelta(minutes=1)
    )

    assert take() == second


@pytest.mark.parametrize(("places", "taken"), [(1, 1), (2, 1), (4, 3)])
def test_how_many_files_of_one_collection_are_read_at_once(
    cast: Cast, files: Files, settings, places: int, taken: int
) -> None:
    settings.INGEST_AT_ONCE = places
    files(cast.alpha, 6)

    assert sum(take() is not None for _ in range(6)) == taken


def test_a_message_takes_the_file_whose_turn_it_is_and_wakes_the_next(
    cast: Cast, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = files(cast.alpha, 2)
    sent: list[int] = []
    monkeypatch.setattr(tasks, "dispatch", lambda task, document_id: sent.append(document_id))
    monkeypatch.setattr(ingest, "_take_to_its_end", lambda key, **_: done(key))

    tasks.ingest(document_id=second)
    assert (Document.objects.get(pk=first).status, sent) == ("ready", [second])
    tasks.ingest(document_id=second)
    tasks.ingest(document_id=second)

    assert Document.objects.get(pk=second).status == "ready"
    assert sent == [second]
    assert a_file_waits() is None


def test_a_file_of_a_machine_that_is_gone_is_taken_over_and_one_that_renews_its_lease_is_not(
    cast: Cast, files: Files
) -> None:
    lost, held = files(cast.alpha, 2)
    for key, ends in ((lost, timedelta(seconds=-1)), (held, timedelta(minutes=1))):
        Document.objects.filter(pk=key).update(
            status=DocumentStatus.EMBEDDING,
            lease_owner=f"machine-{key}:1:x",
            lease_until=Now() + ends,
            attempts=1,
        )

    mine = new_owner()
    assert turn_take(owner=mine) == lost
    taken = Document.objects.get(pk=lost)
    assert (taken.lease_owner, taken.attempts) == (mine, 2)
    assert take() is None, "the other machine is at work on its file"


def test_sweeping_while_many_files_wait_does_not_fill_the_broker(
    cast: Cast, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    files(cast.alpha, 150)
    Document.objects.update(created_at=Now() - timedelta(hours=1))
    broker = Connection("memory://")
    monkeypatch.setattr(current_app, "connection_for_read", lambda: broker.clone())
    queue = broker.SimpleQueue("ingest")
    queue.clear()
    monkeypatch.setattr(tasks, "dispatch", lambda task, document_id: queue.put(document_id) or True)

    sent = [tasks.sweep() for _ in range(3)]
    assert (sent, queue.qsize()) == ([100, 0, 0], 100)

    for _ in range(30):
        queue.get_nowait().ack()
    assert tasks.sweep() == 30


def test_the_next_file_is_found_in_indexes_however_many_wait_or_are_done(cast: Cast, files: Files) -> None:
    # So many, and counted: of a table that is almost empty any index is as good.
    files(cast.alpha, 500)
    Document.objects.update(status=DocumentStatus.READY, finished_at=Now())
    files(cast.alpha, 3)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE documents_document")
    with CaptureQueriesContext(connection) as asked:
        assert take() is not None
    (search,) = [query["sql"] for query in asked if "documents_collection" in query["sql"]]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        cursor.execute(f"EXPLAIN {search}")
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert "documents_at_work" in plan, "all that waits would be read"
    assert "documents_by_end" in plan, "all that is done would be read"


def test_a_sweep_looks_at_every_document_for_its_sketch_until_each_has_one(
    cast: Cast, files: Files, django_assert_num_queries: Any
) -> None:
    (key,) = files(cast.alpha, 1)
    Document.objects.filter(pk=key).update(status=DocumentStatus.READY)

    assert [earlier_documents_sketch(), earlier_documents_sketch()] == [1, 0]
    with django_assert_num_queries(0):
        assert earlier_documents_sketch() == 0
