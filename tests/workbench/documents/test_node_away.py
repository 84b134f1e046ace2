"""How a node that is away, or is lost in the middle, is told from other failures of the database."""

from __future__ import annotations

import psycopg
import pytest
from django.db import InternalError, OperationalError
from psycopg import errors

from workbench.documents.distribution import node_was_away

ON_A_NODE = "CONTEXT:  while executing command on 127.0.0.1:5433"


@pytest.mark.parametrize(
    ("cause", "is_away"),
    [
        (errors.ConnectionFailure("connection to the remote node failed"), True),
        (errors.InternalError_(f"server closed the connection unexpectedly\n{ON_A_NODE}"), True),
        (errors.InternalError_("failure on connection marked as essential: 127.0.0.1:5433"), True),
        (errors.IoError("failed to COPY to shard 102008 on 127.0.0.1:5433"), True),
        (errors.CrashShutdown(f"terminating connection\n{ON_A_NODE}"), True),
        (errors.AdminShutdown("terminating connection due to administrator command"), False),
        (errors.InternalError_(f"cache lookup failed\n{ON_A_NODE}"), False),
        (psycopg.OperationalError("server closed the connection unexpectedly"), False),
    ],
)
def test_a_node_that_is_away_is_told_from_other_failures(cause: psycopg.Error, is_away: bool) -> None:
    kind = InternalError if isinstance(cause, psycopg.InternalError) else OperationalError
    error = kind(str(cause))
    error.__cause__ = cause

    assert node_was_away(error) is is_away
