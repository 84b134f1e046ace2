"""The wheel is whole, and works where there is no checkout."""

from __future__ import annotations

import subprocess
import tarfile
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path

from tests.arbitration.demo_files import write_demo_files
from tests.arbitration.test_library_docs import programs as documented_programs
from tests.package.installing import ROOT, Built, run
from workbench.version import FALLBACK

#: Not for those who run the product: sources of the catalog, and what keeps a checkout in order.
LEFT_OUT = frozenset(
    f"workbench/{name}"
    for name in (
        "stack/bootstrap.py",
        "stack/gate.py",
        "stack/messages.py",
        "stack/release.py",
        "stack/sbom.py",
        "locale/es/LC_MESSAGES/django.po",
    )
)


def tracked(*folders: str) -> set[str]:
    done = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in done.stdout.splitlines() if (ROOT / name).is_file()}


def test_the_wheel_holds_everything_that_is_tracked_and_nothing_else(built: Built) -> None:
    packages = tracked("arbitration", "training", "workbench") - LEFT_OUT
    shared = {f"workbench/{name}" for name in tracked("templates", "static")}

    with zipfile.ZipFile(built.wheel) as wheel:
        found = {name for name in wheel.namelist() if ".dist-info/" not in name}

    assert found == packages | shared
    assert {f"{name}/py.typed" for name in ("arbitration", "training", "workbench")} <= found
    assert "workbench/locale/es/LC_MESSAGES/django.mo" in found


def test_the_source_archive_is_enough_to_build_from(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}

    assert {"pyproject.toml", "README.md", "LICENSE", "NOTICE", "manage.py", "templates/base.html"} <= found
    assert not {name for name in found if name.startswith(("tests/", "docs/", "requirements"))}


def test_the_wheel_says_what_it_is(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = HeaderParser().parsestr(wheel.read(name).decode())

    assert metadata["Name"] == "arbiter-workbench"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert {"server", "otel", "s3"} <= set(metadata.get_all("Provides-Extra") or ())
    assert metadata["Version"] in built.wheel.name


def test_the_version_without_tags_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

    assert project["tool"]["hatch"]["version"]["fallback-version"] == FALLBACK


def test_the_command_tells_its_version_and_its_use(built: Built, programs: Path, tmp_path: Path) -> None:
    said = run(programs / "arbiter-workbench", "--version", cwd=tmp_path).stdout
    assert said.split()[1] in built.wheel.name

    image = run(programs / "arbiter-workbench", "--version", cwd=tmp_path, WORKBENCH_VERSION="2.0.1").stdout
    assert image == "arbiter-workbench 2.0.1\n"

    assert "arbiter-workbench COMMAND" in run(programs / "arbiter-workbench", "--help", cwd=tmp_path).stdout
    wrong = subprocess.run(
        [programs / "arbiter-workbench", "dance"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert "usage:" in wrong.stderr


def test_installed_django_finds_templates_static_files_and_its_home(programs: Path, tmp_path: Path) -> None:
    script = (
        "from django.conf import settings; from django.contrib.staticfiles import finders; "
        "from django.template.loader import get_template; from django.utils import translation as t; "
        "import workbench; print(workbench.__file__, get_template('base.html').origin.name, "
        "finders.find('css/workbench.css'), settings.WORKBENCH_HOME, sep='\\n'); "
        "t.activate('es'); print(t.gettext('Documents'))"
    )
    where = {"SECRET_KEY": "x", "DATABASE_URL": "postgres://none@127.0.0.1:1/none"}

    said = run(programs / "arbiter-workbench", "manage", "shell", "-v0", "-c", script, cwd=tmp_path, **where)

    *files, home, translated = said.stdout.splitlines()
    assert len(files) == 3
    assert all(Path(file).is_relative_to(programs.parent) for file in files)
    assert Path(home) == tmp_path / "arbiter-workbench-data"
    assert translated == "Documentos"


def test_the_first_program_of_the_documents_prints_roles_and_reasons(programs: Path, tmp_path: Path) -> None:
    write_demo_files(tmp_path)
    (tmp_path / "program.py").write_text(documented_programs()[0])

    said = run(programs / "python", "program.py", cwd=tmp_path).stdout.splitlines()

    role = next(number for number, line in enumerate(said) if line.startswith("primary regulation.pdf, p. "))
    assert said[role + 1].strip()
    assert any(line.startswith("discarded ") for line in said)
