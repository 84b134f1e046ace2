"""Exit statuses that scripts rely on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from workbench.infra.command_line import execute

ROOT = Path(__file__).resolve().parents[3]


def test_an_unknown_command_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        execute(["manage.py", "nonesuch"])
    assert caught.value.code == 2
    assert "Unknown command" in capsys.readouterr().err


def test_the_command_line_itself_needs_no_models() -> None:
    """``manage.py`` reads it before Django is set up."""
    done = subprocess.run(
        [sys.executable, "-c", "import workbench.infra.command_line"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
