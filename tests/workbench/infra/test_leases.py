"""Leases: one holder at a time, by the database's clock, and what happens to the heartbeat when it is lost."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.db.models.functions import Now

from tests.workbench.cast import Cast, create_cast
from workbench.documents.models import Document
from workbench.infra import leases
from workbench.infra.leases import Heartbeat, LeaseLost, lease_claim, lease_release, leased, new_owner


def make_row(cast: Cast) -> Document:
    return Document.objects.create(
        collection=cast.alpha, sha256="0" * 64, name="x", size=1, uploaded_by=cast.analyst
    )


@pytest.fixture
def row(cast: Cast) -> Document:
    return make_row(cast)


def rows(row: Document):
    return Document.objects.filter(pk=row.pk)


def test_one_holder_at_a_time(row: Document) -> None:
    assert lease_claim(rows(row), owner="first")
    assert not lease_claim(rows(row), owner="second")

    lease_release(rows(row), owner="second")
    assert not lease_claim(rows(row), owner="second")
    lease_release(rows(row), owner="first")
    assert lease_claim(rows(row), owner="second")
    row.refresh_from_db()
    assert row.attempts == 2


def test_a_lapsed_lease_passes_on_and_the_late_holder_releases_nothing(row: Document) -> None:
    lease_claim(rows(row), owner="first", count_attempt=False)
    rows(row).update(lease_until=Now() - timedelta(milliseconds=1))

    assert lease_claim(rows(row), owner="second", count_attempt=False)
    lease_release(rows(row), owner="first")

    row.refresh_from_db()
    assert (row.lease_owner, row.attempts) == ("second", 0)


def test_owners_are_all_different_and_fit_their_column() -> None:
    names = {new_owner() for _ in range(100)}

    assert len(names) == 100
    assert max(map(len, names)) <= Document._meta.get_field("lease_owner").max_length


def test_the_lease_is_given_back_whatever_happens(row: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Heartbeat, "_renew", lambda self: None)
    lease_claim(rows(row), owner="me")

    def work() -> None:
        with leased(rows(row), owner="me"):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        work()
    row.refresh_from_db()
    assert (row.lease_owner, row.lease_until) == ("", None)


class Rows:
    """A heartbeat's rows: what each renewal does, one after another, then none."""

    def __init__(self, *results: int | Exception) -> None:
        self.results = list(results)
        self.beats = 0
        self.done = threading.Event()

    def filter(self, **_: object) -> Rows:
        return self

    def all(self) -> Rows:
        return self

    def update(self, **_: object) -> int:
        self.beats += 1
        result = self.results.pop(0)
        if not self.results:
            self.done.set()
        if isinstance(result, Exception):
            raise result
        return result


@pytest.mark.parametrize(
    ("results", "is_lost"),
    [
        ((1, 1, 0), True),
        ((OperationalError("restarting"), 1, 0), True),
        (
            (InterfaceError("the connection is closed"), 1, 0),
            True,
        ),  # no DatabaseError, and no end of the thread
    ],
)
def test_the_heartbeat_outlives_the_database_and_notices_its_loss(
    settings, results: tuple[int | Exception, ...], is_lost: bool
) -> None:
    settings.HEARTBEAT_SECONDS = 0.001
    beating = Rows(*results)

    with Heartbeat(beating, owner="me") as heartbeat:  # type: ignore[arg-type]
        assert beating.done.wait(20)
        heartbeat._thread.join(20)
        if is_lost:
            with pytest.raises(LeaseLost):
                heartbeat.check()
    assert beating.beats == len(results)


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_one_gets_it() -> None:
    row = make_row(create_cast())
    both = threading.Barrier(4, timeout=120)
    got: list[bool] = []

    def claim() -> None:
        try:
            both.wait()
            got.append(lease_claim(rows(row), owner=new_owner()))
        finally:
            connection.close()

    workers = [threading.Thread(target=claim) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)

    assert sorted(got) == [False, False, False, True]


@pytest.mark.django_db(transaction=True)
def test_the_heartbeat_renews_in_a_connection_of_its_own(settings) -> None:
    settings.HEARTBEAT_SECONDS = 0.01
    settings.LEASE_SECONDS = 30
    row = make_row(create_cast())
    lease_claim(rows(row), owner="me")
    row.refresh_from_db()
    first = row.lease_until
    renewed = threading.Event()
    end = leases.lease_end

    def noted() -> object:
        renewed.set()
        return end()

    leases.lease_end = noted  # type: ignore[assignment]
    try:
        with Heartbeat(rows(row), owner="me") as heartbeat:
            assert renewed.wait(20)
            heartbeat.check()
    finally:
        leases.lease_end = end
    row.refresh_from_db()
    assert first is not None
    assert row.lease_until is not None
    assert row.lease_until >= first
