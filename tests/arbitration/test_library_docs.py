"""The programs of docs/library.md run, in one go and from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.arbitration.demo_files import write_demo_files
from tests.fake_llm import FakeLLM

pytest_plugins = ["tests.fake_llm.plugin"]

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "library.md"
ADDRESS = "http://127.0.0.1:11434/v1"


def programs() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def test_the_first_program_has_ten_lines_at_most() -> None:
    assert len(programs()[0].splitlines()) <= 10


def test_the_programs_run_and_print_roles_and_reasons(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fake_llm: FakeLLM,
) -> None:
    write_demo_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    text = "\n".join(programs())
    assert ADDRESS in text

    exec(compile(text.replace(ADDRESS, fake_llm.base_url), str(DOCUMENT), "exec"), {})

    printed = capsys.readouterr().out
    assert re.search(r"^primary regulation\.pdf, p\. \d+, lines \d+-\d+\n   \S", printed, re.MULTILINE)
    assert "discarded" in printed
    assert fake_llm.requests
