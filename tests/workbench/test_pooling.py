"""PgBouncer may give each transaction another session of the database (docs/scaling.md): nothing is kept in one.

Run behind it by hand, transactions pooled into four sessions; here what would break that is looked for in the sources.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from workbench.stack.project import ROOT

#: These go to the database directly, as docs/scaling.md says.
DIRECT = {"workbench/operations/management/commands/migrate.py", "workbench/operations/backup.py"}
KEPT_IN_A_SESSION = {
    "a lock that outlives its transaction": r"pg_(try_)?advisory_(un)?lock(_shared)?\b",
    "a setting that outlives its transaction": (
        r"""["']\s*SET (?!LOCAL\b|TRANSACTION\b|CONSTRAINTS\b)|set_config\([^)]*\bfalse\b"""
    ),
    "waiting for a notice": r"""["']\s*(UN)?LISTEN\b""",
    "a temporary table": r"(?i)CREATE (LOCAL )?TEMP(ORARY)? ",
    "a cursor that outlives its transaction": r"""WITH HOLD|\.cursor\(\s*(name\s*=|["'])""",
    "a statement prepared by hand": r"""["']\s*PREPARE |prepare\s*=\s*True|prepare_threshold""",
}


def sources() -> list[Path]:
    found = (path for path in (ROOT / "workbench").rglob("*.py") if "stack" not in path.parts)
    return [path for path in found if path.relative_to(ROOT).as_posix() not in DIRECT]


@pytest.mark.parametrize("what", KEPT_IN_A_SESSION)
def test_nothing_is_kept_in_a_session(what: str) -> None:
    pattern = re.compile(KEPT_IN_A_SESSION[what])
    assert [str(path) for path in sources() if pattern.search(path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("a lock that outlives its transaction", "SELECT pg_advisory_lock(1)"),
        ("a setting that outlives its transaction", 'cursor.execute("SET hnsw.ef_search = 100")'),
        ("a setting that outlives its transaction", "SELECT set_config('a.b', %s, false)"),
        ("waiting for a notice", 'cursor.execute("LISTEN runs")'),
        ("a temporary table", '"CREATE TEMPORARY TABLE found (id int)"'),
        ("a cursor that outlives its transaction", 'connection.cursor(name="rows")'),
        ("a statement prepared by hand", "cursor.execute(query, prepare=True)"),
    ],
)
def test_what_is_kept_would_be_found(what: str, line: str) -> None:
    assert re.search(KEPT_IN_A_SESSION[what], line)


def test_what_lasts_a_transaction_is_no_finding() -> None:
    lines = (
        "SELECT pg_advisory_xact_lock(1)\nSELECT pg_try_advisory_xact_lock(1)",
        '"SET LOCAL hnsw.ef_search = 100"\n"SET CONSTRAINTS ALL IMMEDIATE"',
    )
    for text in lines:
        assert not [what for what, pattern in KEPT_IN_A_SESSION.items() if re.search(pattern, text)]
