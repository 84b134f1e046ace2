"""What ``python -m workbench.stack`` can do: run, serve, exec, status, stop."""

from __future__ import annotations

import http.client
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workbench.paths import RUN

from . import bringup, client, locks, ports, preparation, state
from .console import say
from .errors import StackError, StopRequested
from .home import Home
from .preparation import Login
from .project import Project
from .services import Services
from .signals import Signals
from .state import Mode, Phase
from .supervisor import Supervisor

WEB_SECONDS = 240.0
STOP_SECONDS = 60.0
#: A following command within this time finds the stack still up.
LINGER_SECONDS = 1.0
#: Beat repairs and seals: no command waits for it, and loading it would slow the command that does.
BEAT_AFTER_SECONDS = 5.0


@dataclass(frozen=True)
class Site:
    """Where the web server listens and how a browser reaches it."""

    host: str
    port: int

    @classmethod
    def from_environment(cls) -> Site:
        """HOST (default 127.0.0.1) and PORT (default 8000)."""
        host = os.environ.get("HOST") or ports.LOOPBACK
        if not ports.is_address(host):
            raise StackError(
                f"HOST {host!r} is not an address of this machine. For example: HOST=0.0.0.0 {RUN}"
            )
        return cls(host, ports.parse_port(os.environ.get("PORT") or "8000"))

    @property
    def reachable_host(self) -> str:
        return {"0.0.0.0": ports.LOOPBACK, "::": "::1"}.get(self.host, self.host)  # noqa: S104 - compared, not bound

    @property
    def address(self) -> str:
        host = self.reachable_host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    def answers(self) -> bool:
        """Whether the web server has answered a request, whatever it said."""
        connection = http.client.HTTPConnection(self.reachable_host, self.port, timeout=20)
        try:
            connection.request("GET", "/readyz")
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        if status >= 500:
            say(f"the web server answers, but is not ready (status {status}); see log/web.log")
        return True


def run(project: Project, home: Home, *, demo: bool) -> int:
    """The whole product until Ctrl-C. 0 after an ordinary end."""
    home.create()
    site = Site.from_environment()
    web_lock = locks.try_exclusive(home.web_lock)
    if web_lock is None:
        raise StackError(_already_running(home))
    ports.require_free(site.host, site.port)
    users_lock = client.hold(home)
    stack_lock = locks.try_exclusive(home.stack_lock)
    with Signals().installed() as signals:
        try:
            if stack_lock is not None:
                _run_everything(project, home, site, signals, demo=demo)
            else:
                _run_web_only(project, home, site, signals, demo=demo)
        except StopRequested:
            say("stopped; the data is kept")
    for lock in (stack_lock, users_lock, web_lock):
        if lock is not None:
            lock.release()
    if stack_lock is None:
        _await_background_end(home)
    return 0


def serve(project: Project, home: Home, *, until_unused: bool) -> int:
    """Services, worker and beat without web. 0 at once when another supervisor is there."""
    home.create()
    stack_lock = locks.try_exclusive(home.stack_lock)
    if stack_lock is None:
        return 0
    last_use = UsersLock(home)
    with (
        Signals().installed() as signals,
        Supervisor(home=home, mode=Mode.SERVE, state_file=home.stack_state, signals=signals) as supervisor,
    ):
        try:
            found = _prepare(project, supervisor)
            _start_workers(project, supervisor, found, beat_after_seconds=BEAT_AFTER_SECONDS)
            supervisor.watch(last_use.is_over if until_unused else lambda: False)
        except StopRequested:
            say("asked to stop")
    stack_lock.release()
    last_use.release()
    return 0


class UsersLock:
    """Tells a background stack when its last client has gone; then no new one can come before it has stopped."""

    def __init__(self, home: Home, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._home = home
        self._clock = clock
        self._lock: locks.FileLock | None = None
        self._unused_since: float | None = None

    def is_over(self) -> bool:
        """True once nobody has held the lock for the linger time; the lock is ours from then on."""
        lock = locks.try_exclusive(self._home.users_lock)
        if lock is None:
            self._unused_since = None
            return False
        now = self._clock()
        if self._unused_since is None:
            self._unused_since = now
        if now - self._unused_since >= LINGER_SECONDS:
            self._lock = lock
            return True
        lock.release()
        return False

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()


def execute(project: Project, argv: Sequence[str], *, migrated: bool) -> int:
    """Run a command beside temporary services; its exit status."""
    with Signals().installed() as signals:
        try:
            with bringup.temporary(signals) as (supervisor, found):
                if migrated:
                    preparation.migrate(project, found, supervisor.run_to_end)
                return supervisor.run_in_foreground(argv, found.test_environment(project), cwd=project.root)
        except StopRequested:
            return 128 + signal.SIGTERM
        except FileNotFoundError as error:
            raise StackError(f"the command {argv[0]!r} was not found") from error
    return 1


def status(home: Home) -> int:
    """Print what runs in this home. 0 when a stack is ready, 3 when none runs, 1 otherwise."""
    found = client.running(home)
    if found is None:
        print(f"nothing runs in {home.root}")
        return 3
    print(f"{found.phase} ({found.mode}, pid {found.supervisor.pid}) in {home.root}")
    web = found if found.mode is Mode.RUN else state.read(home.web_state)
    if web is not None and web.is_alive() and web.address:
        print(f"web: {web.address}")
    for child in found.children:
        alive = "running" if child.find() else "not running"
        print(f"{child.name}: {alive}, pid {child.pid}")
    return 0 if found.phase is Phase.READY else 1


def stop(home: Home) -> int:
    """Ask the supervisors of this home to stop, and wait. 0 when nothing runs any more."""
    for path in (home.web_state, home.stack_state):
        last = state.read(path)
        process = last.supervisor.find() if last is not None else None
        if last is None or process is None:
            continue
        say(f"stopping pid {process.pid}")
        process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        while last.supervisor.find() is not None and time.monotonic() < deadline:
            time.sleep(0.1)
    if client.running(home) is not None:
        raise StackError(f"the stack of {home.root} is still stopping; see {home.log('stack')}")
    return 0


def _run_everything(project: Project, home: Home, site: Site, signals: Signals, *, demo: bool) -> None:
    supervisor = Supervisor(home=home, mode=Mode.RUN, state_file=home.stack_state, signals=signals)
    supervisor.clean_up_after(home.web_state)
    with supervisor:
        supervisor.note(address=site.address)
        found = _prepare(project, supervisor)
        _start_workers(project, supervisor, found)
        _open_site(project, supervisor, found, site, demo=demo)
        supervisor.watch()


def _run_web_only(project: Project, home: Home, site: Site, signals: Signals, *, demo: bool) -> None:
    """Beside a stack that a command started: its services serve both, and end with the last user."""
    say("a command has already started the services; adding the web server to them")
    found = client.await_services(home, project)
    with Supervisor(home=home, mode=Mode.RUN, state_file=home.web_state, signals=signals) as supervisor:
        supervisor.note(address=site.address, ports=found.ports)
        preparation.migrate(project, found, supervisor.run_to_end)
        _open_site(project, supervisor, found, site, demo=demo)
        supervisor.watch(lambda: locks.is_free(home.stack_lock))
    raise StackError(
        f"the services ended under the web server (their supervisor was stopped); start again: {RUN}"
    )


def _prepare(project: Project, supervisor: Supervisor) -> Services:
    found = bringup.bring_up(supervisor)
    preparation.migrate(project, found, supervisor.run_to_end)
    supervisor.note(phase=Phase.READY)
    return found


def _start_workers(
    project: Project, supervisor: Supervisor, found: Services, *, beat_after_seconds: float = 0.0
) -> None:
    environment = found.environment(project)
    for worker in project.workers(found.home, environment):
        supervisor.start(worker)
    supervisor.start_later(project.beat(found.home, environment), seconds=beat_after_seconds)


def _open_site(project: Project, supervisor: Supervisor, found: Services, site: Site, *, demo: bool) -> None:
    preparation.collect_static(project, found, supervisor.run_to_end)
    environment = found.environment(project)
    web = supervisor.start(project.web(found.home, environment, host=site.host, port=site.port))
    logins = preparation.create_demo(project, found, supervisor.run_to_end) if demo else []
    supervisor.await_ready(web, site.answers, seconds=WEB_SECONDS)
    _greet(site, found.home, logins)


def _greet(site: Site, home: Home, logins: Sequence[Login]) -> None:
    lines = ["", f"  Arbiter Workbench is running at {site.address}", ""]
    if logins:
        lines.append("  Demo logins:")
        width = max(len(login.email) for login in logins)
        lines += [f"    {login.role:<10} {login.email:<{width}}  {login.password}" for login in logins]
        lines.append("")
    lines += [f"  Data and logs: {home.root}", "  Stop with Ctrl-C; the data is kept.", ""]
    print("\n".join(lines), flush=True)


def _already_running(home: Home) -> str:
    for path in (home.web_state, home.stack_state):
        found = state.read(path)
        if found is not None and found.mode is Mode.RUN and found.is_alive():
            at = f" at {found.address}" if found.address else ""
            return (
                f"the workbench of {home.root} already runs{at} (pid {found.supervisor.pid}). "
                f"Stop it with Ctrl-C there, or run a second one apart: WORKBENCH_HOME=./var2 PORT=8001 {RUN}"
            )
    return f"another `{RUN}` is just starting or stopping in {home.root}; try again in a moment"


def _await_background_end(home: Home) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        if locks.is_free(home.stack_lock):
            return
        if _is_in_use(home):
            say("the services go on: another command is using them; they stop when it ends")
            return
        time.sleep(0.2)


def _is_in_use(home: Home) -> bool:
    """Whether clients hold the users lock. The waiting stack takes it for an instant too, so one look is not enough."""
    for _ in range(4):
        alone = locks.try_exclusive(home.users_lock)
        if alone is not None:
            alone.release()
            return False
        if not locks.is_free(home.users_lock):
            return False
        time.sleep(0.05)
    return True
