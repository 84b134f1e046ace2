"""Advisory locks of PostgreSQL, and who uses which number.

Every lock of the product is a pair of 32-bit numbers: a space from :class:`LockSpace`, and a key inside it
(an object's id, or 0 for a lock of the whole installation). A lock is held until the transaction ends, so
that a killed process never leaves one behind. Pairs live in another number space than the single 64-bit
keys that libraries may take.
"""

from __future__ import annotations

from enum import IntEnum

from django.db import connection

_KEY_MASK = 0x7FFFFFFF


class LockSpace(IntEnum):
    """What is locked. Numbers are never used twice, not even after a lock is given up."""

    #: Key 0: the one sealer that gives events their place in the hash chain.
    AUDIT_SEAL = 4101
    #: Key: a person's id. One pair is laid on their desk at a time, also from two windows.
    LABELING_DESK = 4110
    #: Key: a person's id. One page is drawn for them at a time.
    PAGE_DRAWING = 4111
    #: Key 0: taking in new questions, whose order decides what stands in the holdout.
    QUESTION_PLACES = 4102
    #: Key 0: starting a training; there is one at a time.
    TRAINING = 4103
    #: Key 0: choosing the file that is read next.
    INGEST_TURN = 4105
    #: Key 0: choosing the source that is looked at next.
    SOURCE_TURN = 4106
    #: Key: a hash of an object's address. Programs that say which version they saw change it one after the other.
    API_OBJECT = 4120
    #: Key 0: adding a source, so that no two collections take the same place at once.
    SOURCE_PLACES = 4130
    #: Key 0: moving an alias, so that two moves do not both think they came from the same model.
    MODEL_ALIAS = 4104


def advisory_lock(space: LockSpace, key: int = 0, *, wait: bool = True) -> bool:
    """Takes a lock until the transaction ends; without ``wait`` False when somebody else holds it.

    Raises :class:`RuntimeError` outside a transaction, where the lock would be gone at once.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("An advisory lock needs a transaction; open one with transaction.atomic().")
    function = "pg_advisory_xact_lock" if wait else "pg_try_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s, %s)", [int(space), key & _KEY_MASK])
        (taken,) = cursor.fetchone()
    return True if wait else bool(taken)
