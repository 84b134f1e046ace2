"""Whose file is read next: no tenant's files hold up another tenant's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from tests.workbench.cast import Cast
from workbench.documents import ingest, tasks
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
