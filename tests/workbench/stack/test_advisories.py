"""The audit of dependencies: what pip-audit says, with a command that says it in its place."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

from workbench.stack import advisories
from workbench.stack.project import ROOT

SOUND = {"name": "sound", "version": "1.0", "vulns": []}
WEAK = {
    "name": "weak",
    "version": "2.0",
    "vulns": [{"id": "PYSEC-0000-1", "fix_versions": ["2.1"], "aliases": ["CVE-0000-1"], "description": "x"}],
}
UNFIXED = {
    "name": "old",
    "version": "3",
    "vulns": [{"id": "PYSEC-0000-2", "fix_versions": [], "aliases": []}],
}
ABSENT = {
    "name": "absent",
    "skip_reason": "Dependency not found on PyPI and could not be audited: absent (1.0)",
}


def said(*dependencies: Any, status: int = 0, stdout: str | None = None, stderr: str = "") -> Any:
    """A run of pip-audit 2.10 that ends with this status after these words."""
    written = json.dumps({"dependencies": dependencies, "fixes": []}) if stdout is None else stdout

    def run(locks: Sequence[str]) -> subprocess.CompletedProcess[str]:
        assert list(locks) == ["a.lock"]
        return subprocess.CompletedProcess([], status, written, stderr)

    return run


def test_nothing_known_is_a_success_that_says_how_much_was_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert advisories.main(["a.lock"], said(SOUND, SOUND)) == 0
    assert "2 locked packages, none with a known weakness" in capsys.readouterr().out


def test_a_known_weakness_fails_and_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert advisories.main(["a.lock"], said(SOUND, WEAK, WEAK, UNFIXED, status=1)) == 1
    told = capsys.readouterr().err
    assert "weak 2.0: PYSEC-0000-1 (CVE-0000-1), fixed in 2.1" in told
    assert "old 3: PYSEC-0000-2, no fixed version yet" in told
    assert "2 known weaknesses" in told
    assert "make lock" in told


def test_a_weakness_is_found_even_where_others_could_not_be_asked_about(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert advisories.main(["a.lock"], said(WEAK, ABSENT, status=1)) == 1
    assert "1 of 2 packages (absent)" in capsys.readouterr().err


def test_what_the_database_does_not_know_is_no_silent_pass(capsys: pytest.CaptureFixture[str]) -> None:
    """By itself pip-audit ends with 0 and "No known vulnerabilities found" here."""
    assert advisories.main(["a.lock"], said(SOUND, *[ABSENT] * 7)) == 3
    told = capsys.readouterr().err
    assert "not audited" in told
    assert "7 of 8 packages" in told
    assert "and 2 more" in told


@pytest.mark.parametrize(
    ("status", "stdout", "stderr"),
    [
        (2, "", "error: Failed to fetch pip-audit\n  cause: tcp connect error"),
        (1, "", "ERROR:pip_audit._cli:Could not connect to PyPI's vulnerability feed"),
        (0, "", ""),
        (0, "<html>a proxy's page</html>", ""),
        (0, '{"dependencies": []}', ""),
    ],
    ids=["no tool", "no database", "nothing said", "something else said", "nothing asked"],
)
def test_an_audit_that_did_not_happen_has_a_status_of_its_own(
    capsys: pytest.CaptureFixture[str], status: int, stdout: str, stderr: str
) -> None:
    assert advisories.main(["a.lock"], said(status=status, stdout=stdout, stderr=stderr)) == 3
    told = capsys.readouterr().err
    assert "not audited" in told
    assert "Run `make audit` again" in told
    assert all(line.strip() in told for line in stderr.splitlines())


def test_wrong_use_is_told_apart() -> None:
    assert advisories.main([]) == 2


def test_make_audit_asks_about_every_lock_file() -> None:
    recipe = re.search(r"^audit:.*\n((?:\t.*\n?)+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert recipe is not None
    assert "workbench.stack.advisories" in recipe[1]
    assert "$(wildcard requirements*.lock)" in recipe[1]
