"""A release: the changelog's section, the tag, what is built, and the bill of materials."""

from __future__ import annotations

import json
import re
import subprocess
from datetime import date
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from workbench.stack import release, sbom
from workbench.stack.errors import StackError
from workbench.stack.project import ROOT

CHANGELOG = (
    "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A door.\n\n## [0.1.0] - 2026-01-01\n\n- A wall.\n"
)
LOCK = (
    "first==1.0 \\\n    --hash=sha256:{a} \\\n    --hash=sha256:{b}\n"
    "windows==2.0 ; sys_platform == 'win32' \\\n    --hash=sha256:{a}\n"
    "image==3.0 ; python_full_version >= '3.12' \\\n    --hash=sha256:{b}\n"
).format(a="a" * 64, b="b" * 64)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    root.mkdir()
    (root / "CHANGELOG.md").write_text(CHANGELOG)
    (root / release.LOCK).write_text(LOCK)
    git(root, "init", "--quiet")
    git(root, "config", "user.name", "Somebody")
    git(root, "config", "user.email", "somebody@example.org")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "Begin")
    return root


def git(root: Path, *argv: str) -> str:
    done = subprocess.run(("git", *argv), cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_what_was_unreleased_becomes_the_section_of_the_version() -> None:
    text = release.cut(CHANGELOG, "0.2.0", date(2026, 11, 24))
    assert "## [0.2.0] - 2026-11-24\n\n### Added\n\n- A door.\n" in text
    assert release.section(text, "0.2.0") == "### Added\n\n- A door.\n"
    assert release.section(text, "0.1.0") == "- A wall.\n"
    with pytest.raises(StackError, match="says nothing under"):
        release.cut(text, "0.3.0", date(2026, 11, 25))
    with pytest.raises(StackError, match="already"):
        release.cut(CHANGELOG, "0.1.0", date(2026, 11, 25))


def test_our_own_changelog_can_be_cut() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert release.section(release.cut(text, "99.0.0", date(2026, 1, 1)), "99.0.0").startswith("### ")


def test_a_cut_commits_and_tags(checkout: Path) -> None:
    assert release.main(["cut", "v0.2.0"], checkout) == 0
    assert git(checkout, "tag", "--points-at", "HEAD") == "v0.2.0"
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "log", "-1", "--format=%s") == "Release 0.2.0"
    assert "## [0.2.0] - " in (checkout / "CHANGELOG.md").read_text()
    assert release.main(["cut", "0.2.0"], checkout) == 1, "there already"


def test_a_dry_run_changes_nothing(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = git(checkout, "rev-parse", "HEAD")
    folder = checkout / "dist"
    assert release.main(["cut", "0.2.0", "--dry-run"], checkout) == 0
    assert release.main(["build", "0.2.0", "--dry-run", "--into", str(folder)], checkout) == 0
    said = capsys.readouterr()
    for part in ("git tag --annotate v0.2.0", "uv build", "helm package docs/deploy/chart --version 0.2.0",
                 "--build-arg WORKBENCH_VERSION=0.2.0 --tag arbiter-workbench:0.2.0", "0.2.0.cdx.json"):  # fmt: skip
        assert part in said.out + said.err
    assert git(checkout, "rev-parse", "HEAD") == before
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "tag") == ""


@pytest.mark.parametrize("version", ["1.2", "v1", "1.2.3-4", "one", "01.2.3"])
def test_what_is_no_version_is_refused(version: str, checkout: Path) -> None:
    assert release.main(["cut", version], checkout) == 1
    assert git(checkout, "tag") == ""


def test_nothing_is_cut_or_built_beside_changes_or_without_the_tag(checkout: Path) -> None:
    assert release.main(["build", "0.2.0", "--skip", "image", "--skip", "chart"], checkout) == 1
    (checkout / "CHANGELOG.md").write_text("changed")
    assert release.main(["cut", "0.2.0"], checkout) == 1


def test_image_and_chart_can_be_left_out() -> None:
    programs = [argv[0] for argv in release.build_commands("1.0.0", Path("dist"), ())]
    assert programs[1:] == ["helm", "docker"]
    assert len(release.build_commands("1.0.0", Path("dist"), ("image", "chart"))) == 1


def test_the_bill_names_what_the_image_installs_with_its_sums() -> None:
    text = sbom.bill(LOCK, "0.2.0")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    found = json.loads(text)
    assert {part["purl"] for part in found["components"]} == {"pkg:pypi/first@1.0", "pkg:pypi/image@3.0"}
    (first,) = (part for part in found["components"] if part["name"] == "first")
    assert {entry["content"] for entry in first["hashes"]} == {"a" * 64, "b" * 64}
    assert found["metadata"]["component"]["version"] == "0.2.0"
    assert "timestamp" not in text
    assert sbom.bill(LOCK, "0.2.0") == text
    assert sbom.bill(LOCK, "0.2.1") != text


def test_the_bill_of_our_own_lock_is_whole() -> None:
    lock = (ROOT / release.LOCK).read_text("utf-8")
    text = sbom.bill(lock, "0.2.0")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    named = {part["name"] for part in json.loads(text)["components"]}
    plain = set(re.findall(r"^([a-z0-9._-]+)==[^ ;]+ \\$", lock, re.M))
    assert plain <= named
    assert {"django", "psycopg"} <= named
