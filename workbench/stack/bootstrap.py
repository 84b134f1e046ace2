"""``python3 -m workbench.stack.bootstrap run|dev``: the environment in ``.venv``, from the hashed locks.

Runs on the system's Python with nothing but the standard library. A stamp in ``.venv`` holds the hashes
of the locks it was made from, so a second call returns at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
OLDEST = (3, 11)
UV_LOCK = "requirements-uv.lock"
LOCKS = {"run": "requirements.lock", "dev": "requirements-dev.lock"}


class SetupError(Exception):
    """The environment cannot be made; the text says what to do."""


def main(argv: list[str], root: Path = ROOT) -> int:
    """Make or complete the environment for `run` or `dev`. 0, or 1 with a message, or 2 for wrong use."""
    if len(argv) != 1 or argv[0] not in LOCKS:
        print("usage: python3 -m workbench.stack.bootstrap run|dev", file=sys.stderr)
        return 2
    try:
        with _one_at_a_time(root):
            ensure(root, argv[0])
    except SetupError as error:
        print(f"workbench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def ensure(root: Path, kind: str) -> None:
    """Install the lock of this kind into ``.venv`` unless the stamp says it is there."""
    venv = root / ".venv"
    wanted = {"at": str(venv), "uv": _hash(root / UV_LOCK), kind: _hash(root / LOCKS[kind])}
    found = _read_stamp(venv)
    if _works(venv) and _covers(found, wanted, kind, root):
        return
    if not _works(venv) or found.get("at", str(venv)) != str(venv):
        _make_venv(venv)
        found = {}
    python = venv / "bin" / "python"
    if found.get("uv") != wanted["uv"] or not (venv / "bin" / "uv").exists():
        _say("installing uv")
        _run([str(python), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(root / UV_LOCK)])
    _say(f"installing {LOCKS[kind]}")
    uv = [str(venv / "bin" / "uv"), "pip", "install", "--quiet", "--python", str(python), "--require-hashes"]
    _run([*uv, "-r", str(root / LOCKS[kind])])
    (venv / ".installed.json").write_text(json.dumps({**found, **wanted}), encoding="utf-8")


def _covers(found: dict[str, str], wanted: dict[str, str], kind: str, root: Path) -> bool:
    if all(found.get(name) == value for name, value in wanted.items()):
        return True
    # The development environment holds everything that running needs, locked to the same versions.
    complete = found.get("dev") == _hash(root / LOCKS["dev"]) and found.get("at") == wanted["at"]
    return kind == "run" and complete and found.get("uv") == wanted["uv"]


def _make_venv(venv: Path) -> None:
    python = _suitable_python()
    _say(f"making .venv with {python}")
    if (
        subprocess.run(
            [python, "-m", "venv", "--clear", str(venv)], check=False, capture_output=True
        ).returncode
        == 0
    ):
        return
    # Debian splits ensurepip off; a pip of the system can fill a bare environment.
    bare = subprocess.run([python, "-m", "venv", "--clear", "--without-pip", str(venv)], check=False)
    outer = [python, "-m", "pip", "--python", str(venv / "bin" / "python"), "install", "--quiet", "pip"]
    if bare.returncode != 0 or subprocess.run(outer, check=False, capture_output=True).returncode != 0:
        raise SetupError(
            f"{python} cannot make a virtual environment with pip. "
            "Install the venv module, on Debian: apt-get install python3-venv"
        )


def _suitable_python() -> str:
    if sys.version_info[:2] >= OLDEST:
        return sys.executable
    for minor in (13, 12, 14, 11):
        found = shutil.which(f"python3.{minor}")
        if found:
            return found
    raise SetupError(
        f"Python {OLDEST[0]}.{OLDEST[1]} or later is needed; {sys.executable} is "
        f"{sys.version_info[0]}.{sys.version_info[1]} and no other was found. Install one, or name it: "
        "make run PYTHON=/path/to/python3.12"
    )


def _works(venv: Path) -> bool:
    python = venv / "bin" / "python"
    check = f"import sys; sys.exit(sys.version_info[:2] < {OLDEST})"
    try:
        return subprocess.run([str(python), "-c", check], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def _read_stamp(venv: Path) -> dict[str, str]:
    try:
        content = json.loads((venv / ".installed.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _hash(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise SetupError(
            f"{path} cannot be read: {error.strerror}. Restore it: git checkout {path.name}"
        ) from error


def _run(argv: list[str]) -> None:
    # A VIRTUAL_ENV of the caller would send the packages elsewhere.
    environment = {
        name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONHOME"}
    }
    code = subprocess.run(argv, check=False, env=environment).returncode
    if code != 0:
        raise SetupError(f"{' '.join(argv[:4])} ... failed with status {code}; its own message is above")


@contextlib.contextmanager
def _one_at_a_time(root: Path) -> Iterator[None]:
    with (root / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _say(message: str) -> None:
    print(f"workbench: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
