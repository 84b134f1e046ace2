"""One sealer gives the places in the chain; writers never wait."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from django.db import connection, connections, transaction

from tests.workbench.audit.conftest import Record
from workbench.accounts.models import User
from workbench.audit.locks import LockSpace, advisory_lock
from workbench.audit.models import AuditEvent, AuditPending, AuditSeal
from workbench.audit.services import audit_record, audit_seal, audit_seal_all, audit_verify
from workbench.audit.tasks import seal
from workbench.audit.verifier import GENESIS, link_hash

WAIT = 20  # seconds a thread waits for the other before the test fails


def test_the_chain_begins_with_zeros_and_has_no_gaps(sealed: list[AuditEvent]) -> None:
    seals = list(AuditSeal.objects.order_by("position"))
    assert [item.position for item in seals] == [1, 2, 3, 4, 5]
    assert [item.event_id for item in seals] == [event.pk for event in sealed]
    assert seals[0].prev_hash == GENESIS
    for before, after in pairwise(seals):
        assert after.prev_hash == before.hash
        assert after.hash == link_hash(prev_hash=before.hash, event_hash=after.event_hash)
    assert not AuditPending.objects.exists()


def test_a_limit_leaves_the_rest_for_later(record: Record) -> None:
    for _ in range(5):
        record()
    assert audit_seal(limit=3) == 3
    assert audit_verify().unsealed == 2
    assert seal() == 2
    assert audit_verify().unsealed == 0


@pytest.mark.django_db(transaction=True)
def test_an_event_that_commits_late_is_sealed_later(record: Record, actor: User) -> None:
    written, go_on = threading.Event(), threading.Event()

    def slow_writer() -> int:
        try:
            with transaction.atomic():
                event = audit_record(actor=actor, action="comment.added")
                written.set()
                assert go_on.wait(WAIT)
            return event.pk
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(slow_writer)
        assert written.wait(WAIT)
        quick = record("comment.added")
        assert audit_seal_all() == 1
        go_on.set()
        slow_id = future.result(WAIT)
    assert slow_id < quick.pk
    assert audit_seal_all() == 1
    assert list(AuditSeal.objects.order_by("position").values_list("event_id", flat=True)) == [
        quick.pk,
        slow_id,
    ]
    assert audit_verify().ok


@pytest.mark.django_db(transaction=True)
def test_concurrent_writers_and_sealers_keep_one_chain(actor: User) -> None:
    writers, each = 6, 25

    def write(number: int) -> None:
        try:
            for item in range(each):
                with transaction.atomic():
                    audit_record(
                        actor=actor, action="comment.added", object_type="w", object_id=f"{number}.{item}"
                    )
        finally:
            connections.close_all()

    def keep_sealing(_: int) -> None:
        try:
            while not done.is_set():
                audit_seal(limit=7)
        finally:
            connections.close_all()

    done = threading.Event()
    with ThreadPoolExecutor(writers + 2) as pool:
        sealers = [pool.submit(keep_sealing, number) for number in range(2)]
        for future in [pool.submit(write, number) for number in range(writers)]:
            future.result(WAIT)
        done.set()
        for future in sealers:
            future.result(WAIT)
    audit_seal_all()
    report = audit_verify()
    assert (report.events, report.unsealed, report.ok, report.position) == (150, 0, True, 150)


@pytest.mark.django_db(transaction=True)
def test_a_second_sealer_goes_away_at_once(record: Record) -> None:
    record()
    with transaction.atomic():
        assert advisory_lock(LockSpace.AUDIT_SEAL)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(_seal_elsewhere).result(WAIT) == 0
    assert audit_seal() == 1


@pytest.mark.django_db(transaction=True)
def test_a_sealer_that_dies_leaves_nothing_behind(record: Record) -> None:
    record()

    @transaction.atomic
    def seal_and_die() -> None:
        audit_seal()
        raise OSError("the connection is lost")

    with pytest.raises(OSError, match="lost"):
        seal_and_die()
    assert audit_verify().unsealed == 1
    assert audit_seal() == 1
    assert audit_verify().ok


@pytest.mark.django_db(transaction=True)
def test_a_lock_needs_a_transaction() -> None:
    with pytest.raises(RuntimeError, match="needs a transaction"):
        advisory_lock(LockSpace.AUDIT_SEAL)


def test_locks_of_other_keys_do_not_meet(db: None) -> None:
    with transaction.atomic():
        assert advisory_lock(LockSpace.AUDIT_SEAL, 1)
        assert connection.in_atomic_block


def _seal_elsewhere() -> int:
    try:
        return audit_seal()
    finally:
        connections.close_all()
