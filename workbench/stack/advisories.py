"""``python -m workbench.stack.advisories FILE...``: known weaknesses of the locked dependencies.

pip-audit asks the advisory database of the package index about every line of the lock files. By itself it ends with 1
for a weakness and for a failure alike, and with 0 about a package that the database does not know. Here three things
are told apart: 0, everything was asked about and nothing is known; 1, a weakness is known; 3, not everything could be
asked about, so that nothing is certain (2 is wrong use).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

#: The newest that is allowed to be fetched; older ones do not write what is read here.
TOOL: Final = ("tool", "run", "pip-audit>=2.10")
CLEAN, FOUND, MISUSED, UNKNOWN = 0, 1, 2, 3
_SHOWN = 5


class Advisory(BaseModel):
    """One known weakness of one version, as pip-audit writes it."""

    id: str
    aliases: list[str] = []
    fix_versions: list[str] = []


class Dependency(BaseModel):
    """What is known about one locked package; `skip_reason` where it could not be asked about."""

    name: str
    version: str = ""
    vulns: list[Advisory] = []
    skip_reason: str = ""


class Report(BaseModel):
    """All that pip-audit wrote."""

    dependencies: list[Dependency]


def ask(locks: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run pip-audit over the lock files and keep what it says. Needs the network."""
    options = ("--disable-pip", "--require-hashes", "--progress-spinner", "off", "--format", "json")
    files = [word for lock in locks for word in ("--requirement", lock)]
    uv = Path(sys.executable).with_name("uv")
    environment: dict[str, str] = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    return subprocess.run(
        (str(uv), *TOOL, *options, *files), check=False, capture_output=True, text=True, env=environment
    )


def judge(done: subprocess.CompletedProcess[str]) -> tuple[int, list[str]]:
    """Exit status and words for what pip-audit said."""
    try:
        report = Report.model_validate_json(done.stdout)
    except ValidationError:
        return UNKNOWN, [*_last_words(done), *_not_asked("the advisory database did not answer")]
    found = [
        _line(dependency, advisory) for dependency in report.dependencies for advisory in dependency.vulns
    ]
    skipped = [dependency for dependency in report.dependencies if dependency.skip_reason]
    missing = _skipped(skipped, of=len(report.dependencies)) if skipped else []
    if found:
        return FOUND, [*sorted(set(found)), *missing, _advice(len(set(found)))]
    if missing or not report.dependencies:
        return UNKNOWN, missing or _not_asked("the lock files name no package")
    return CLEAN, [f"{len(report.dependencies)} locked packages, none with a known weakness"]


def _line(dependency: Dependency, advisory: Advisory) -> str:
    aliases = f" ({', '.join(advisory.aliases)})" if advisory.aliases else ""
    fixed = (
        f"fixed in {', '.join(advisory.fix_versions)}" if advisory.fix_versions else "no fixed version yet"
    )
    return f"{dependency.name} {dependency.version}: {advisory.id}{aliases}, {fixed}"


def _advice(count: int) -> str:
    return (
        f"{count} known weaknesses. For each: raise the lower bound in pyproject.toml to the fixed version, then "
        "`make lock`, `make test` and `make audit`. Where none is fixed yet, say in SECURITY.md why it cannot be "
        "reached here, or replace the package."
    )


def _skipped(skipped: Sequence[Dependency], *, of: int) -> list[str]:
    shown = ", ".join(dependency.name for dependency in skipped[:_SHOWN])
    rest = f" and {len(skipped) - _SHOWN} more" if len(skipped) > _SHOWN else ""
    return _not_asked(
        f"the advisory database knows nothing of {len(skipped)} of {of} packages ({shown}{rest})"
    )


def _not_asked(why: str) -> list[str]:
    return [
        f"not audited: {why}. Nothing is known about them, good or bad. Run `make audit` again where the "
        "package index itself can be reached, not only a mirror of its files without the advisories."
    ]


def _last_words(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [f"pip-audit: {line.strip()}" for line in done.stderr.splitlines() if line.strip()][-_SHOWN:]


def main(argv: Sequence[str], run: Any = ask) -> int:
    """Ask about the lock files named in `argv`, print what is known, and end as the module says."""
    if not argv:
        print("usage: python -m workbench.stack.advisories LOCK_FILE...", file=sys.stderr)
        return MISUSED
    status, lines = judge(run(argv))
    print("\n".join(lines), file=sys.stdout if status == CLEAN else sys.stderr, flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
