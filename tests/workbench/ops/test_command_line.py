"""Exit statuses that scripts rely on."""

from __future__ import annotations

import pytest

from workbench.ops.command_line import execute


def test_an_unknown_command_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        execute(["manage.py", "nonesuch"])
    assert caught.value.code == 2
    assert "Unknown command" in capsys.readouterr().err
