"""Builds the wheel once per test process, and installs it into environments that know nothing of the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).with_name("uv")
#: Of the tests' own process, which would point back to the checkout.
MISLEADING = re.compile(
    r"PYTHON(PATH|HOME)|VIRTUAL_ENV|DJANGO_.*|DATABASE_.*|BROKER_URL|WORKBENCH_.*|SECRET_KEY"
)


@dataclass(frozen=True)
class Built:
    """The two files of a release."""

    wheel: Path
    sdist: Path


def clean_environment(**more: str) -> dict[str, str]:
    """The variables that a stranger's shell has."""
    return {name: value for name, value in os.environ.items() if not MISLEADING.fullmatch(name)} | more


def run(
    *argv: str | Path, cwd: Path, timeout: float = 120.0, **more: str
) -> subprocess.CompletedProcess[str]:
    """A command to its end; its output is in the failure's message."""
    done = subprocess.run(
        [str(part) for part in argv],
        cwd=cwd,
        env=clean_environment(**more),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"{argv}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def build(into: Path) -> Built:
    """The source archive, and the wheel made from it."""
    # Without isolation the build needs no network: hatchling is among the development packages.
    run(
        UV,
        "build",
        "--quiet",
        "--no-build-isolation",
        "--python",
        sys.executable,
        "--out-dir",
        into,
        cwd=ROOT,
    )
    (wheel,), (sdist,) = into.glob("*.whl"), into.glob("*.tar.gz")
    return Built(wheel, sdist)


def install(wheel: Path, venv: Path) -> Path:
    """The wheel alone in a new environment; its dependencies are those installed for the tests. The ``bin`` folder."""
    run(UV, "venv", "--quiet", "--python", sys.executable, venv, cwd=venv.parent)
    python = venv / "bin" / "python"
    run(UV, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, wheel, cwd=venv.parent)
    (packages,) = (venv / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return python.parent
