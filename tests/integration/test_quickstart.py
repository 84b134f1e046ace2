"""docs/api.md as a newcomer follows it: its curl commands and its Python program, against the running product."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.product import ROOT, RunningProduct

from .test_generated_client import token_of

pytestmark = pytest.mark.integration


def blocks(language: str) -> list[str]:
    text = (ROOT / "docs" / "api.md").read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_commands_and_the_program_of_the_quickstart_work(product: RunningProduct, tmp_path: Path) -> None:
    environment = os.environ | {
        "WORKBENCH_URL": product.address,
        "WORKBENCH_TOKEN": token_of(product, "analyst", "view", "upload", "ask"),
    }
    _exports, *commands = blocks("bash")
    (program,) = blocks("python")

    def said(*argv: str) -> str:
        done = subprocess.run(
            argv, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    by_curl = said("bash", "-euc", "\n".join(commands))
    assert "event: end" in by_curl
    assert '"citations":[{' in by_curl
    by_program = said(sys.executable, "-c", program)
    assert re.search(r" - \S+\.\w+ p\S+ \d", by_program)
    assert re.search(r"^(primary|supporting) \w+ \S", by_program, re.MULTILINE)
