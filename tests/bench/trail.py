"""The audit trail under many writers: events per second, and one unbroken chain afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from tests.bench.registry import Figure, Size, measurement

WRITERS = 4


@measurement("trail", needs_services=True)
def trail(size: Size) -> Iterator[Figure]:
    """Writers with transactions of their own, and a sealer beside them, until the last event has its seal."""
    from workbench.audit.models import AuditEvent
    from workbench.audit.services import audit_seal, audit_seal_all, audit_verify

    each = 2500 if size == "full" else 500
    audit_seal_all()
    before = AuditEvent.objects.count()
    writers = [threading.Thread(target=_write, args=(each,)) for _ in range(WRITERS)]
    started = time.perf_counter()
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        audit_seal()
        time.sleep(0.05)
    written = time.perf_counter() - started
    audit_seal_all()
    sealed = time.perf_counter() - started
    events = AuditEvent.objects.count() - before
    report = audit_verify()
    yield Figure("events written, per second", events / written, "1/s", 500, "at least", f"{WRITERS} writers")
    yield Figure("events written and sealed, per second", events / sealed, "1/s", 500, "at least")
    yield Figure("events lost", WRITERS * each - events, "", 0, "at most")
    yield Figure("chain broken or unsealed", (not report.ok) + report.unsealed, "", 0, "at most")


def _write(count: int) -> None:
    from django.db import connections, transaction

    from workbench.accounts.models import User
    from workbench.audit.services import audit_record

    system = User.objects.system()
    try:
        for number in range(count):
            with transaction.atomic():
                audit_record(
                    actor=system,
                    action="comment.added",
                    object_type="bench",
                    object_id=number,
                    after={"number": number},
                )
    finally:
        connections.close_all()
