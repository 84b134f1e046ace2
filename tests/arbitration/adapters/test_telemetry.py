"""The runtime of the encoder and of the reader of scans sends nothing about its use anywhere."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

#: Notes what the variable says at the moment when the runtime is imported.
WATCH = """
import builtins, os, sys
real, seen = builtins.__import__, []
def watched(name, *rest, **more):
    if name.split(".")[0] == "onnxruntime" and "onnxruntime" not in sys.modules:
        seen.append(os.environ.get("ORT_DISABLE_TELEMETRY"))
    return real(name, *rest, **more)
builtins.__import__ = watched
{use}
assert seen and set(seen) == {{"1"}}, seen
print(os.environ["ORT_DISABLE_TELEMETRY"])
"""
ENCODER = "import arbitration.adapters.onnx_embedder"
SCANS = "from arbitration.parsing import ocr; ocr._engine()"


@pytest.mark.parametrize("use", [ENCODER, SCANS], ids=["encoder", "scans"])
@pytest.mark.parametrize("before", [None, "0"], ids=["unset", "wanted"])
def test_telemetry_is_off_before_the_runtime_is_there(use: str, before: str | None) -> None:
    """Even where somebody asks for it."""
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    if before is not None:
        environment["ORT_DISABLE_TELEMETRY"] = before
    done = subprocess.run(
        [sys.executable, "-c", WATCH.format(use=use)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("1")
