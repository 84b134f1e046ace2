"""The systemd units: each starts what the containers start, as an ordinary account that may do little."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from tests.workbench.stack.test_containers import SERVICES, interpolated, words
from workbench.stack import project
from workbench.stack.project import ROOT

UNITS = ROOT / "docs" / "deploy" / "systemd"
PROGRAMS = "/opt/arbiter-workbench/bin"
SERVICE_FILES = sorted(UNITS.glob("*.service"))
#: Said by every service.
HARDENED = {
    "User": "workbench",
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "RestrictNamespaces": "yes",
    "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX",
    "SystemCallArchitectures": "native",
}
#: Where the containers differ: where web listens, how each worker is named and how many processes it has.
OWN = ("--bind=", "-n", "--concurrency=", "--schedule=", "--workers=", "--threads=")

services = pytest.mark.parametrize("path", SERVICE_FILES, ids=lambda path: path.name)


def said(path: Path, name: str) -> list[str]:
    """Every value that a unit gives to a name, in order."""
    return re.findall(rf"^{name}=(.*)$", path.read_text("utf-8"), re.M)


def started(path: Path) -> list[list[str]]:
    return [line.lstrip("-").split() for name in ("ExecStartPre", "ExecStart") for line in said(path, name)]


def options(given: list[str]) -> list[str]:
    values = {"-n"}
    kept = [word for at, word in enumerate(given) if not (at and given[at - 1] in values)]
    return [word for word in kept if not word.startswith(OWN)]


@services
def test_a_service_may_do_little(path: Path) -> None:
    for name, value in HARDENED.items():
        assert said(path, name) == [value], name
    assert "landlock_restrict_self" in said(path, "SystemCallFilter")[0], "parsers lock themselves in"


@services
def test_every_command_is_one_of_the_product_with_options_that_it_has(path: Path) -> None:
    assert started(path)
    for program, *arguments in started(path):
        folder, _, name = program.rpartition("/")
        assert folder == PROGRAMS
        if name != "arbiter-workbench":
            assert name in {"gunicorn", "celery"}
            continue
        manage, command, *rest = arguments
        assert manage == "manage"
        load_command_class(get_commands()[command], command).create_parser("manage.py", command).parse_args(
            rest
        )


def test_web_workers_and_beat_start_as_in_containers() -> None:
    (web,) = (line for line in started(UNITS / "arbiter-workbench-web.service") if "gunicorn" in line[0])
    assert options(web[1:]) == options(interpolated(words("web"), {})[1:])
    (beat,) = started(UNITS / "arbiter-workbench-beat.service")
    assert options(beat[1:]) == options(words("beat")[1:])
    (worker,) = started(UNITS / "arbiter-workbench-worker@.service")
    for name in (name for name in SERVICES if name.startswith("worker-")):
        queue = name.removeprefix("worker-")
        instance = [word.replace("%i", queue) for word in worker[1:]]
        assert options(instance) == options(words(name)[1:])


def test_the_target_starts_every_queue_and_one_beat() -> None:
    wanted = " ".join(said(UNITS / "arbiter-workbench.target", "Wants")).split()
    queues = f"{project.QUESTION_QUEUES},{project.OTHER_QUEUES}".split(",")
    workers = {f"arbiter-workbench-worker@{queue}.service" for queue in queues}
    assert set(wanted) == {"arbiter-workbench-web.service", "arbiter-workbench-beat.service", *workers}


def test_only_the_migration_knows_the_owner() -> None:
    holders = [
        path.name for path in SERVICE_FILES if any("owner" in file for file in said(path, "EnvironmentFile"))
    ]
    assert holders == ["arbiter-workbench-migrate.service"]


def test_a_backup_is_made_in_the_order_of_the_manual() -> None:
    commands = [line[2] for line in started(UNITS / "arbiter-workbench-backup.service")]
    assert commands == ["anchor_audit", "backup", "verify_audit"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_finds_nothing_wrong_with_them(tmp_path: Path) -> None:
    """With stand-ins for the programs and an instance of the worker for each queue."""
    for name in ("arbiter-workbench", "gunicorn", "celery"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    units = tmp_path / "units"
    units.mkdir()
    for path in UNITS.iterdir():
        (units / path.name).write_text(path.read_text("utf-8").replace(PROGRAMS, str(tmp_path)))
    asked = [
        str(units / ("arbiter-workbench-worker@llm.service" if "@" in path.name else path.name))
        for path in sorted(units.iterdir())
    ]
    (units / "arbiter-workbench-worker@llm.service").symlink_to(units / "arbiter-workbench-worker@.service")
    done = subprocess.run(
        ("systemd-analyze", "verify", "--man=no", *asked),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    ours = [line for line in done.stderr.splitlines() if "arbiter-workbench" in line or str(tmp_path) in line]
    assert (done.returncode, ours) == (0, [])
