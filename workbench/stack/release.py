"""``python -m workbench.stack.release cut|build|notes VERSION``: a release, from the changelog to the image.

`cut` moves what is under [Unreleased] in the changelog to a section of the version, commits that and tags it.
`build FOLDER` makes wheel, source archive, bill of materials, notes, chart and image of the tag. `notes` prints the
section. Nothing is pushed. `--dry-run` says what would be done; `--skip image` and `--skip chart` leave them out where
Docker or Helm is missing.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from workbench.paths import ROOT

from . import sbom
from .console import say
from .errors import StackError

IMAGE: Final = "arbiter-workbench"
LOCK: Final = "requirements-image.lock"
_VERSION: Final = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)((?:a|b|rc)\d+)?")
_HEADING: Final = re.compile(r"^## \[(?P<name>[^]]+)\].*$", re.M)
UNRELEASED: Final = "Unreleased"


def section(changelog: str, name: str) -> str:
    """The words under a heading of the changelog. Raises StackError where it is missing or empty."""
    headings = list(_HEADING.finditer(changelog))
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        if heading["name"] == name:
            words = changelog[heading.end() : following.start() if following else None].strip()
            if words:
                return words + "\n"
            raise StackError(f"CHANGELOG.md says nothing under [{name}]")
    raise StackError(f"CHANGELOG.md has no section [{name}]")


def cut(changelog: str, version: str, day: date) -> str:
    """The changelog with what was unreleased under the version, and nothing unreleased."""
    section(changelog, UNRELEASED)
    if any(heading["name"] == version for heading in _HEADING.finditer(changelog)):
        raise StackError(f"CHANGELOG.md has a section [{version}] already")
    heading = f"## [{UNRELEASED}]"
    return changelog.replace(heading, f"{heading}\n\n## [{version}] - {day.isoformat()}", 1)


def commit_commands(version: str) -> list[list[str]]:
    """Commit the changelog and tag the commit."""
    return [
        ["git", "commit", "--quiet", "--message", f"Release {version}", "CHANGELOG.md"],
        ["git", "tag", "--annotate", f"v{version}", "--message", f"Release {version}"],
    ]


def build_commands(version: str, folder: Path, skip: Sequence[str]) -> list[list[str]]:
    """Wheel and source archive, then chart and image where they are wanted."""
    uv = str(Path(sys.executable).with_name("uv"))
    chart = ["helm", "package", "docs/deploy/chart", "--version", version, "--app-version", version]
    image = [
        "docker",
        "build",
        "--build-arg",
        f"WORKBENCH_VERSION={version}",
        "--tag",
        f"{IMAGE}:{version}",
        ".",
    ]
    built = [
        uv,
        "build",
        "--quiet",
        "--no-build-isolation",
        "--python",
        sys.executable,
        "--out-dir",
        str(folder),
    ]
    return [
        built,
        *([] if "chart" in skip else [[*chart, "--destination", str(folder)]]),
        *([] if "image" in skip else [image]),
    ]


def _said(argv: Sequence[str], root: Path) -> str:
    done = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _check_checkout(root: Path, version: str, *, tagged: bool) -> None:
    if _said(["git", "status", "--porcelain"], root):
        raise StackError("the checkout has changes that are not committed")
    tags = _said(["git", "tag", "--points-at", "HEAD"], root).splitlines()
    if tagged and f"v{version}" not in tags:
        raise StackError(f"the checkout is not at the tag v{version}")
    if not tagged and _said(["git", "tag", "--list", f"v{version}"], root):
        raise StackError(f"there is a tag v{version} already")


def _run(commands: Sequence[Sequence[str]], root: Path, *, dry: bool) -> None:
    missing = sorted({argv[0] for argv in commands if shutil.which(argv[0]) is None})
    if missing and not dry:
        raise StackError(f"not here: {', '.join(missing)}. --skip leaves image or chart out")
    for argv in commands:
        say(" ".join(argv))
        if not dry:
            subprocess.run(argv, cwd=root, check=True)


def release_cut(root: Path, version: str, *, dry: bool) -> None:
    """Changelog, commit, tag."""
    _check_checkout(root, version, tagged=False)
    path = root / "CHANGELOG.md"
    text = cut(path.read_text("utf-8"), version, datetime.now(UTC).date())
    say(f"CHANGELOG.md: section [{version}]")
    if not dry:
        path.write_text(text, "utf-8")
    _run(commit_commands(version), root, dry=dry)


def release_build(root: Path, version: str, folder: Path, *, skip: Sequence[str], dry: bool) -> None:
    """Everything that is handed out, into a folder; the image stays with Docker."""
    if not dry:
        _check_checkout(root, version, tagged=True)
        folder.mkdir(parents=True, exist_ok=True)
    _run(build_commands(version, folder, skip), root, dry=dry)
    written = {
        f"{IMAGE}-{version}.cdx.json": sbom.bill((root / LOCK).read_text("utf-8"), version),
        "notes.md": "" if dry else section((root / "CHANGELOG.md").read_text("utf-8"), version),
    }
    for name, text in written.items():
        say(f"{folder / name}")
        if not dry:
            (folder / name).write_text(text, "utf-8")


def main(argv: Sequence[str], root: Path = ROOT) -> int:
    """Do one step; 1 and a message where it cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m workbench.stack.release")
    parser.add_argument("step", choices=("cut", "build", "notes"))
    parser.add_argument("version")
    parser.add_argument("--into", type=Path, default=Path("dist"))
    parser.add_argument("--skip", action="append", choices=("image", "chart"), default=[])
    parser.add_argument("--dry-run", action="store_true")
    given = parser.parse_args(argv)
    version = given.version.removeprefix("v")
    try:
        if not _VERSION.fullmatch(version):
            raise StackError(f"{version!r} is no version such as 1.2.0 or 1.2.0rc1")
        match given.step:
            case "cut":
                release_cut(root, version, dry=given.dry_run)
            case "build":
                release_build(root, version, given.into.resolve(), skip=given.skip, dry=given.dry_run)
            case _:
                print(section((root / "CHANGELOG.md").read_text("utf-8"), version), end="")
    except StackError as error:
        say(str(error))
        return 1
    except subprocess.CalledProcessError as error:
        say(f"{error.cmd[0]} ended with {error.returncode}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
