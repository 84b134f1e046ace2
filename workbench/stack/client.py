"""How a command finds the services: it joins the running stack of its home, or starts one behind itself.

Every client holds the users lock shared for as long as it lives. A stack that a command started takes
that lock exclusively before it stops, so it stops when the last client has ended, however that ended,
and never under one that has just come.
"""

from __future__ import annotations

import os
import secrets as random
import subprocess
import sys
import time
from collections.abc import Sequence

from . import locks, preparation, state
from .console import say, tail
from .errors import StackError
from .home import Home
from .processes import Program, describe_exit, obey
from .project import Project
from .services import Services
from .state import Phase, State

READY_SECONDS = 600.0
#: These never touch the database or the broker. In doubt a command is not in this list.
WITHOUT_SERVICES = frozenset(
    {
        *("check", "collectstatic", "compilemessages", "diffsettings", "findstatic", "help", "makemessages"),
        *("spectacular", "startapp", "startproject", "version", "export_key", "verify_export"),
    }
)
#: These change the schema, which only its owner may.
AS_OWNER = frozenset(
    {"createcachetable", "flush", "migrate", "optimizemigration", "restore", "squashmigrations", "test"}
)

_held: list[locks.FileLock] = []


def prepare_command(argv: Sequence[str], project: Project | None = None) -> None:
    """Set the environment for a manage.py command, starting the services where it needs them.

    Does nothing when DATABASE_URL is set. Exits with status 1 and a message when the services cannot start.
    """
    if os.environ.get("DATABASE_URL") or os.environ.get("DATABASE_URL_FILE"):
        return
    project = project or Project()
    home = Home.from_environment(os.environ, project.root)
    try:
        if needs_services(argv):
            attach(home, project, as_owner=connects_as_owner(argv))
        else:
            _set_up_without_services(home, project)
    except StackError as error:
        say(str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def needs_services(argv: Sequence[str]) -> bool:
    """Whether the command line names a command that uses the database or the broker."""
    if len(argv) < 2 or argv[1].startswith("-") or argv[1] in WITHOUT_SERVICES:
        return argv[1:2] == ["check"] and "--database" in argv
    options = argv[2 : argv.index("--")] if "--" in argv else argv[2:]
    return not {"-h", "--help", "--version"} & set(options)


def connects_as_owner(argv: Sequence[str]) -> bool:
    """Whether the command changes the schema: a new encoder's vectors have an index of their own."""
    return argv[1] in AS_OWNER or (argv[1] == "reembed" and "--new-encoder" in argv)


def attach(home: Home, project: Project, *, as_owner: bool = False) -> Services:
    """Join or start the stack, apply pending migrations, and set the environment of this process."""
    services = join(home, project)
    if not as_owner:
        preparation.migrate(project, services, run_quietly)
    environment = services.owner_environment(project) if as_owner else services.environment(project)
    environment["DATABASE_OWNER_URL"] = services.owner_url
    os.environ.update(environment)
    return services


def join(home: Home, project: Project) -> Services:
    """The services of this home, held for as long as this process lives. Raises StackError."""
    home.create()
    _held.append(hold(home))
    return await_services(home, project)


def hold(home: Home) -> locks.FileLock:
    """The shared users lock; waits for a stack that is just stopping."""
    deadline = time.monotonic() + READY_SECONDS
    while (lock := locks.try_shared(home.users_lock)) is None:
        if time.monotonic() > deadline:
            raise StackError(
                f"the stack of {home.root} has been stopping for minutes; see {home.log('stack')}"
            )
        time.sleep(0.05)
    return lock


def await_services(home: Home, project: Project) -> Services:
    """Wait until a stack is ready, starting one when none runs. Call with the users lock held."""
    deadline = time.monotonic() + READY_SECONDS
    starter: subprocess.Popen[bytes] | None = None
    while time.monotonic() < deadline:
        found = _ready_stack(home)
        if found is not None:
            return found
        if locks.is_free(home.stack_lock):
            if starter is None:
                say("starting the database, the broker and a worker")
                starter = _start_in_background(home, project)
            elif (code := starter.poll()) is not None:
                # Status 0: it found another supervisor and left, and that one has ended since.
                if code != 0:
                    raise StackError(_why_it_failed(home, code))
                starter = None
        time.sleep(0.05)
    raise StackError(
        f"the stack of {home.root} was not ready after {READY_SECONDS:.0f} s; see {home.log('stack')}"
    )


def run_quietly(program: Program) -> None:
    """Run a command to its end, its output in its log. Raises StackError with the last lines."""
    with program.log.open("ab") as log:
        done = subprocess.run(
            program.argv,
            env=dict(program.env),
            cwd=program.cwd,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode != 0:
        raise StackError(
            f"{program.name} failed ({describe_exit(done.returncode)}); the end of {program.log}:\n"
            f"{tail(program.log)}"
        )


def running(home: Home) -> State | None:
    """The state of the supervisor that holds the stack lock; None when there is none."""
    if not home.run.is_dir() or locks.is_free(home.stack_lock):
        return None
    found = state.read(home.stack_state)
    return found if found is not None and found.is_alive() else None


def _ready_stack(home: Home) -> Services | None:
    found = running(home)
    if found is None or found.phase is not Phase.READY or found.ports is None:
        return None
    secrets = home.find_secrets()
    return None if secrets is None else Services(home, secrets, found.ports)


def _start_in_background(home: Home, project: Project) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "WORKBENCH_HOME": str(home.root), "PYTHONUNBUFFERED": "1"}
    with home.log("stack").open("ab") as log:
        return subprocess.Popen(
            (sys.executable, *project.stack, "serve", "--until-unused"),
            env=environment,
            cwd=project.root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=obey,
        )


def _why_it_failed(home: Home, code: int) -> str:
    last = state.read(home.stack_state)
    if last is not None and last.phase is Phase.FAILED and last.error:
        return last.error
    return f"the stack did not start ({describe_exit(code)}); the end of its log:\n{tail(home.log('stack'))}"


def _set_up_without_services(home: Home, project: Project) -> None:
    """Enough for Django's settings to load; a key of this moment where none is kept yet."""
    if not (os.environ.get("SECRET_KEY") or os.environ.get("SECRET_KEY_FILE")):
        kept = home.find_secrets()
        os.environ["SECRET_KEY"] = kept.secret_key if kept else random.token_urlsafe(48)
