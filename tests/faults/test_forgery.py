"""Forgers against the running product: shadow tables as its own database role, and exports with something taken out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.faults.state import chain_is_whole
from tests.product import RunningProduct, eventually
from tests.workbench.audit.thinned import NOT_PROVEN, REFUSED, thin
from workbench.audit import verifier
from workbench.stack import postgres
from workbench.stack import state as stack_state

pytestmark = [pytest.mark.integration, pytest.mark.faults]

COLLECTION = "demo"


def connection(product: RunningProduct, role: str) -> psycopg.Connection:
    """A session of a role of the product's database."""
    state, secrets = stack_state.read(product.home.stack_state), product.home.secrets()
    assert state is not None
    assert state.ports is not None
    password = {
        postgres.APP_ROLE: secrets.app_password,
        postgres.SUPERUSER: secrets.superuser_password,
    }[role]
    return psycopg.connect(postgres.url(role, password, state.ports.postgres), autocommit=True)


@pytest.fixture
def forger(product: RunningProduct) -> Iterator[psycopg.Connection]:
    """The application's role, which somebody let make temporary tables again."""
    grant = sql.SQL("{} TEMPORARY ON DATABASE {} {} {}")
    names = sql.Identifier(postgres.DATABASE), sql.Identifier(postgres.APP_ROLE)
    with connection(product, postgres.SUPERUSER) as superuser:
        superuser.execute(grant.format(sql.SQL("GRANT"), names[0], sql.SQL("TO"), names[1]))
        try:
            with connection(product, postgres.APP_ROLE) as session:
                yield session
        finally:
            superuser.execute(grant.format(sql.SQL("REVOKE"), names[0], sql.SQL("FROM"), names[1]))


def test_the_application_makes_no_temporary_table(product: RunningProduct) -> None:
    with connection(product, postgres.APP_ROLE) as session:
        for what in ("TEMP TABLE audit_pending (event_id bigint)", "TABLE shadow (id bigint)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.execute(f"CREATE {what}")


def test_a_shadow_swallows_no_event(product: RunningProduct, forger: psycopg.Connection) -> None:
    forger.execute("CREATE TEMP TABLE audit_pending (event_id bigint)")
    (event,) = forger.execute(
        "INSERT INTO public.audit_event (actor_name, actor_kind, action, object_type, object_id, reason, request_id)"
        " VALUES ('Forger', 'system', 'thing.done', '', '', '', '') RETURNING id"
    ).fetchone()
    assert forger.execute("SELECT count(*) FROM pg_temp.audit_pending").fetchone() == (0,)
    query = "SELECT count(*) FROM public.audit_seal WHERE event_id = %s"
    eventually(lambda: forger.execute(query, [event]).fetchone() == (1,), seconds=120, what="it is sealed")
    chain_is_whole(product)


def test_a_shadow_unseals_no_event(forger: psycopg.Connection) -> None:
    forger.execute("CREATE TEMP TABLE audit_seal (LIKE public.audit_seal)")
    with forger.transaction(force_rollback=True):
        forger.execute(
            "INSERT INTO public.audit_event (actor_name, actor_kind, action, object_type, object_id, reason,"
            " request_id) VALUES ('Forger', 'system', 'thing.hidden', '', '', '', '')"
        )
        forger.execute(
            "INSERT INTO audit_seal (position, event_id, event_hash, prev_hash, hash, sealed_at)"
            " SELECT event_id, event_id, '', '', '', now() FROM public.audit_pending"
        )
        with pytest.raises(psycopg.Error, match="has no seal yet"), forger.transaction():
            forger.execute("DELETE FROM public.audit_pending")


def test_a_shadow_passes_no_hold(product: RunningProduct, forger: psycopg.Connection) -> None:
    forger.execute("CREATE TEMP TABLE audit_event (LIKE public.audit_event)")
    for column in (
        "actor_name",
        "actor_kind",
        "object_type",
        "object_id",
        "reason",
        "request_id",
        "id",
        "salt",
    ):
        forger.execute(f"ALTER TABLE pg_temp.audit_event ALTER {column} DROP NOT NULL")
    forger.execute("BEGIN")
    forger.execute(
        "INSERT INTO audit_event (collection_id, action, created_at)"
        " SELECT id, 'collection.hold_placed', clock_timestamp() FROM public.documents_collection"
    )
    forger.execute("UPDATE public.documents_collection SET legal_hold = true")
    with pytest.raises(psycopg.Error, match="only with the event"):
        forger.execute("COMMIT")
    forger.execute("ROLLBACK")


# --- exports ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exported(product: RunningProduct, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The trail of the demo collection, and anchors made after it."""
    folder = tmp_path_factory.mktemp("trail")
    file, anchors = folder / "trail.jsonl", folder / "anchors.jsonl"
    for arguments in (
        ("export_audit", "--collection", COLLECTION, "--out", str(file)),
        ("anchor_audit", "--to", str(anchors)),
    ):
        done = product.manage(*arguments)
        assert done.returncode == 0, done.stderr
    return file, anchors


def checked(file: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The verifier as a stranger runs it."""
    command = [sys.executable, "-I", "-S", verifier.__file__, str(file), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_the_whole_export_is_proven(exported: tuple[Path, Path]) -> None:
    file, anchors = exported
    done = checked(file, "--anchor", str(anchors), "--complete")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["complete"] == "proven"


@pytest.mark.parametrize("way", ["hide_an_event", "hide_all_events", "record_it_otherwise"])
def test_a_thinned_export_is_refused(way: str, exported: tuple[Path, Path], tmp_path: Path) -> None:
    file, anchors = exported
    thinned = tmp_path / "thinned.jsonl"
    thinned.write_bytes(file.read_bytes())
    thin(thinned, {**REFUSED, **NOT_PROVEN}[way])
    done = checked(thinned, "--anchor", str(anchors))
    assert (done.returncode, done.stdout) == (1, ""), done.stderr


def test_an_export_under_the_first_formats_name_is_not_proven(
    exported: tuple[Path, Path], tmp_path: Path
) -> None:
    file, anchors = exported
    thinned = tmp_path / "thinned.jsonl"
    thinned.write_bytes(file.read_bytes())
    thin(thinned, NOT_PROVEN["call_it_the_first_format"])
    done = checked(thinned, "--anchor", str(anchors))
    assert json.loads(done.stdout)["complete"] == "unknown"
    assert checked(thinned, "--anchor", str(anchors), "--complete").returncode == 1
