"""Reading acts on a real streaming standby: it answers with nothing older than the question, else the primary does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, OperationalError, connection, connections, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from structlog.testing import capture_logs

from tests.cluster.nodes import PLAIN, Node, make_room
from tests.conftest import ROOT
from tests.ports import own_port
from tests.product import eventually
from tests.workbench.cast import Cast
from tests.workbench.exports.test_exports import ERA, made
from tests.workbench.scene import Scene
from workbench.accounts.models import Membership, User
from workbench.audit.actions import Action
from workbench.audit.models import AuditEvent
from workbench.audit.services import audit_record
from workbench.documents.models import Document
from workbench.documents.restrictions import Restriction
from workbench.exports.services import period_export, run_export
from workbench.infra import replica
from workbench.infra.replica import ALIAS, from_replica, replica_state
from workbench.operations.metrics import figures
from workbench.review.models import QueueItem
from workbench.review.services import candidate_override
from workbench.runs.models import Run
from workbench.stack.postgres import BINARIES

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", ALIAS]),
    pytest.mark.usefixtures("servers"),
]

ClientAs = Callable[[User | None], Client]
ROLES = ("workbench_owner", "workbench_app")


@dataclass(frozen=True, slots=True)
class Servers:
    """The primary that the tests write to, and its standby."""

    primary: Node
    standby: Node

    def pause(self) -> None:
        """The standby goes on receiving, and replays nothing."""
        self.standby.execute("SELECT pg_wal_replay_pause()")
        eventually(
            lambda: self.standby.execute("SELECT pg_get_wal_replay_pause_state()") == [("paused",)],
            what="replay is paused",
        )

    def resume(self) -> None:
        self.standby.execute("SELECT pg_wal_replay_resume()")

    def kill(self) -> None:
        """The standby, at once. It begins again where it is: otherwise it would replay all tests before."""
        self.primary.execute("CHECKPOINT")
        self.catch_up()
        self.standby.execute("CHECKPOINT")
        self.standby.kill()

    def catch_up(self) -> None:
        """Waits until the standby has all that is committed."""
        ((position,),) = self.primary.execute("SELECT pg_current_wal_insert_lsn()::text")
        behind = f"SELECT pg_last_wal_replay_lsn() >= '{position}'"
        eventually(lambda: self.standby.execute(behind) == [(True,)], what="the standby caught up")


@pytest.fixture(scope="module")
def servers(django_db_setup: None, django_db_blocker: Any) -> Iterator[Servers]:
    """Two servers of their own: the tests' embedded one keeps too short a log for a standby. The test database moves
    there, and back at the end."""
    with tempfile.TemporaryDirectory(prefix="workbench-replica-") as scratch:
        folder = Path(scratch) / "nodes"
        make_room(folder, BINARIES)
        primary = Node(BINARIES, folder / "primary", own_port(), PLAIN)
        standby = Node(BINARIES, folder / "standby", own_port(), PLAIN)
        found = connections.settings["default"]
        before = dict(found)
        try:
            primary.make()
            primary.start()
            _copy_test_database(before, primary)
            standby.follow(primary)
            standby.start()
            with django_db_blocker.unblock():
                connection.close()
                found |= {"HOST": "127.0.0.1", "PORT": primary.port, "USER": "postgres", "NAME": "workbench"}
                _configure(standby)
            yield Servers(primary, standby)
        finally:
            with django_db_blocker.unblock():
                connection.close()
                _forget()
            found.update(before)
            for node in (standby, primary):
                if (node.folder / "postmaster.pid").exists():
                    node.kill()


def _copy_test_database(settings: dict[str, Any], primary: Node) -> None:
    primary.execute(
        "CREATE DATABASE workbench", *(f"CREATE ROLE {role} LOGIN" for role in ROLES), database="postgres"
    )
    address = f"postgres://{settings['USER']}@{settings['HOST']}:{settings['PORT']}/{settings['NAME']}"
    environment = os.environ | {"PGPASSWORD": settings["PASSWORD"]}
    dumped = subprocess.run(
        [BINARIES / "pg_dump", "--no-owner", address], env=environment, check=True, capture_output=True
    )
    target = f"postgres://postgres@127.0.0.1:{primary.port}/workbench"
    subprocess.run(
        [BINARIES / "psql", "-q", "-v", "ON_ERROR_STOP=1", target],
        input=dumped.stdout, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture
def standby(
    servers: Servers, settings: Any, monkeypatch: pytest.MonkeyPatch, cast: Cast
) -> Iterator[Servers]:
    """The standby is configured, has the cast, and nothing is known of it yet."""
    monkeypatch.setattr(replica, "_known", replica._Known())
    monkeypatch.setattr(replica, "BEHIND_SECONDS", 0.2)
    monkeypatch.setattr(replica, "AWAY_SECONDS", 0.2)
    settings.DATABASE_ROUTERS = ["workbench.infra.replica.Router"]
    settings.DATABASE_REPLICA_LAG_SECONDS = 10
    _configure(servers.standby)
    servers.standby.ensure()
    servers.catch_up()
    yield servers
    servers.standby.ensure()
    servers.resume()
    _configure(servers.standby)


def _configure(node: Node) -> None:
    _forget()
    settings = connections.settings["default"]
    connections.settings[ALIAS] = settings | {
        "ENGINE": "workbench.infra.standby",
        "PORT": node.port,
        "OPTIONS": settings.get("OPTIONS", {}) | {"connect_timeout": 2},
        "TEST": settings["TEST"] | {"MIRROR": "default"},
    }


def _forget() -> None:
    if ALIAS in connections.settings:
        connections[ALIAS].close()
        del connections[ALIAS]
        del connections.settings[ALIAS]


def tell(cast: Cast, reason: str) -> None:
    """An event that the trail of alpha shows."""
    with transaction.atomic():
        audit_record(actor=cast.admin, action=Action.AUDIT_EXPORTED, obj=cast.alpha, reason=reason)


def tables(queries: CaptureQueriesContext) -> str:
    return " ".join(query["sql"] for query in queries)


def test_the_trail_is_read_from_the_standby_and_who_asks_from_the_primary(
    standby: Servers, cast: Cast, client_as: ClientAs
) -> None:
    tell(cast, "told last")
    client = client_as(cast.auditor)

    with CaptureQueriesContext(connections[ALIAS]) as there, CaptureQueriesContext(connection) as here:
        page = client.get(reverse("audit:trail"))

    assert "told last" in page.content.decode()
    assert 'FROM "audit_event"' in tables(there)
    assert 'FROM "audit_event"' not in tables(here)
    for table in ("django_session", "accounts_membership", "accounts_user"):
        assert f'"{table}"' in tables(here)


def test_it_costs_two_short_queries(standby: Servers, cast: Cast, client_as: ClientAs) -> None:
    """One at the primary, and one at a standby that is up to date; without a standby, none."""
    client = client_as(cast.auditor)
    client.get(reverse("audit:trail"))
    standby.catch_up()
    with CaptureQueriesContext(connections[ALIAS]) as there, CaptureQueriesContext(connection) as here:
        client.get(reverse("audit:trail"))
    _forget()
    with CaptureQueriesContext(connection) as alone:
        client.get(reverse("audit:trail"))

    looks = sum("pg_last_wal_replay_lsn" in query["sql"] for query in there)
    assert len(here) + len(there) - looks == len(alone) + 1
    assert 0 < looks < 20


def test_rows_are_those_of_the_standby(standby: Servers, cast: Cast, scene: Scene) -> None:
    """What changes on the primary after the act began is not seen by it, as the standby does not replay."""

    @from_replica
    def names() -> tuple[str, str]:
        standby.pause()
        standby.primary.execute(f"UPDATE documents_document SET name = 'new' WHERE id = {scene.document.pk}")
        with transaction.atomic():
            in_transaction = Document.objects.get(pk=scene.document.pk).name
        return Document.objects.get(pk=scene.document.pk).name, in_transaction

    assert names() == (scene.document.name, "new")
    assert Document.objects.get(pk=scene.document.pk).name == "new"


def test_an_act_reads_what_it_wrote_and_is_not_repeated(standby: Servers, scene: Scene) -> None:
    begun: list[str] = []

    @from_replica
    def act(*, fails: bool = False) -> str:
        begun.append("once")
        row = Document.objects.get(pk=scene.document.pk)
        assert row._state.db == ALIAS
        standby.pause()
        row.name = "written"
        row.save(update_fields=["name"])
        if fails:
            with connections[ALIAS].cursor() as cursor:
                cursor.execute("SELECT no_such_column")
        row.refresh_from_db()
        return Document.objects.get(pk=scene.document.pk).name

    assert act() == "written"
    standby.resume()
    standby.catch_up()
    with pytest.raises(DatabaseError, match="no_such_column"):
        act(fails=True)
    assert len(begun) == 2


def test_the_standby_refuses_writes(standby: Servers, scene: Scene) -> None:
    with pytest.raises(DatabaseError, match="read-only"):
        Document.objects.using(ALIAS).filter(pk=scene.document.pk).update(name="no")


def test_locked_rows_are_read_from_the_primary(standby: Servers) -> None:
    @from_replica
    def database() -> str:
        return Document.objects.select_for_update().db

    assert database() == "default"


# --- behind, away, broken ---------------------------------------------------------------------------------------


def test_beyond_the_bound_the_primary_answers_and_it_is_said_once(
    standby: Servers, cast: Cast, client_as: ClientAs, settings: Any
) -> None:
    settings.DATABASE_REPLICA_LAG_SECONDS = 0.1
    client = client_as(cast.auditor)
    standby.pause()
    with capture_logs() as logs, CaptureQueriesContext(connections[ALIAS]) as there:
        for number in range(3):
            tell(cast, f"late {number}")
            assert f"late {number}" in client.get(reverse("audit:trail")).content.decode()
    assert [log for log in logs if log["event"].startswith("replica")] == [
        {"event": "replica.left", "reason": "behind", "error": "", "log_level": "warning"}
    ]
    assert 'FROM "audit_event"' not in tables(there)
    assert replica_state().reason == "behind"
    assert replica_state().lag_seconds > 0.1

    settings.DATABASE_REPLICA_LAG_SECONDS = 10
    standby.resume()
    standby.catch_up()

    def is_read_again() -> bool:
        with CaptureQueriesContext(connections[ALIAS]) as there:
            client.get(reverse("audit:trail"))
        return 'FROM "audit_event"' in tables(there)

    with capture_logs() as logs:
        eventually(is_read_again, what="the standby is read again")
    assert [log["event"] for log in logs if log["event"].startswith("replica")] == ["replica.read_again"]
    assert not replica_state().reason


def test_one_that_is_known_to_be_behind_is_waited_for_once(
    standby: Servers, monkeypatch: pytest.MonkeyPatch, settings: Any, cast: Cast
) -> None:
    """Later acts look whether it has replayed by now what it lacked, and do not wait."""
    waited: list[float] = []
    monkeypatch.setattr(replica, "BEHIND_SECONDS", 0)
    monkeypatch.setattr(replica.time, "sleep", waited.append)
    settings.DATABASE_REPLICA_LAG_SECONDS = 0.1
    database = from_replica(lambda: Run.objects.db)
    standby.pause()
    tell(cast, "not there")

    assert database() == "default"
    assert waited
    waited.clear()
    assert database() == "default"
    assert waited == []

    standby.resume()
    standby.catch_up()
    standby.pause()
    tell(cast, "nor this")
    assert database() == "default"
    assert waited
    waited.clear()
    assert database() == "default"
    assert waited == []


def test_a_primary_that_cannot_name_its_position_answers_itself(
    standby: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "_PRIMARY", "SELECT no_such_function()")
    assert from_replica(lambda: Run.objects.db)() == "default"
    assert Run.objects.count() == 0
    assert replica_state().reason == "away"


def test_a_standby_that_is_a_moment_behind_is_waited_for(
    standby: Servers, cast: Cast, client_as: ClientAs
) -> None:
    client = client_as(cast.auditor)
    standby.pause()
    tell(cast, "waited for")
    resumes = threading.Timer(0.3, standby.resume)
    resumes.start()

    with CaptureQueriesContext(connections[ALIAS]) as there:
        page = client.get(reverse("audit:trail"))

    resumes.join()
    assert "waited for" in page.content.decode()
    assert 'FROM "audit_event"' in tables(there)


def test_killed_in_the_middle_of_a_page_the_primary_answers(
    standby: Servers, cast: Cast, client_as: ClientAs, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workbench.trail import views

    client, inner, calls = client_as(cast.auditor), views.trail_page, []
    monkeypatch.setattr(replica, "AWAY_SECONDS", 600)

    def killed_first(**arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            assert AuditEvent.objects.db == ALIAS
            standby.kill()
        return inner(**arguments)

    tell(cast, "kept")
    with monkeypatch.context() as patch, capture_logs() as logs:
        patch.setattr(views, "trail_page", killed_first)
        page = client.get(reverse("audit:trail"))
        while_away = client.get(reverse("audit:trail"))

    assert page.status_code == while_away.status_code == 200
    assert "kept" in page.content.decode()
    assert len(calls) == 3
    assert [log["reason"] for log in logs if log["event"] == "replica.left"] == ["broken"]
    assert replica_state() == replica.ReplicaState("away", None)

    replica._known.quiet_until = 0
    assert client.get(reverse("audit:trail")).status_code == 200
    assert replica._known.reason == "away"
    standby.standby.start()
    replica._known.quiet_until = 0
    monkeypatch.setattr(replica, "AWAY_SECONDS", 0)
    eventually(
        lambda: client.get(reverse("audit:trail")) and not replica._known.reason, what="it is read again"
    )


@contextmanager
def hanging(node: Node) -> Iterator[None]:
    """Every process of the server is stopped: its connections stay open, and nobody answers on them."""
    postmaster = int((node.folder / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    stopped = [postmaster, *map(int, children)]
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in reversed(stopped):
            os.kill(process, signal.SIGCONT)


@pytest.mark.parametrize("is_connected", [True, False])
def test_one_that_hangs_is_left_and_the_primary_answers(
    standby: Servers, settings: Any, is_connected: bool
) -> None:
    settings.DATABASE_REPLICA_CONNECT_SECONDS = 1
    database = from_replica(lambda: Run.objects.db)
    assert database() == ALIAS
    if not is_connected:
        connections[ALIAS].close()
    with hanging(standby.standby):
        begun = time.monotonic()
        assert database() == "default"
        assert time.monotonic() - begun < 30
        assert replica._known.reason == "away"
        assert replica_state() == replica.ReplicaState("away", None)
    replica._known.quiet_until = 0
    assert database() == ALIAS


def test_one_that_hangs_in_the_middle_is_left_too(standby: Servers, settings: Any) -> None:
    settings.DATABASE_REPLICA_QUERY_SECONDS = 1
    begun: list[str] = []

    @from_replica
    def act() -> tuple[str, int]:
        begun.append(Run.objects.db)
        if len(begun) > 1:
            return Run.objects.db, Run.objects.count()
        with hanging(standby.standby):
            return Run.objects.db, Run.objects.count()

    assert act() == ("default", 0)
    assert begun == [ALIAS, "default"]
    assert replica._known.reason == "broken"


def test_a_failure_of_the_primary_is_not_taken_for_one_of_the_standby(standby: Servers) -> None:
    begun: list[str] = []

    @from_replica
    def act() -> None:
        begun.append("once")
        raise OperationalError("the primary's")

    with pytest.raises(OperationalError, match="the primary's"):
        act()
    assert begun == ["once"]
    assert not replica._known.reason


def test_what_is_no_standby_of_this_database_is_not_read(standby: Servers) -> None:
    """Such as the primary itself, when an address moves with a role; or a standby of something else."""
    assert replica._look((replica._position()[0], 7))[0] == "not_a_standby"
    _configure(standby.primary)

    @from_replica
    def database() -> str:
        return Run.objects.db

    assert database() == "default"
    assert replica_state().reason == "not_a_standby"


def test_the_application_s_role_may_look(standby: Servers) -> None:
    for node, query in ((standby.primary, replica._PRIMARY), (standby.standby, replica._STANDBY)):
        with psycopg.connect(node.url("workbench_app")) as session:
            session.execute(query, {"position": "0/0", "system": 1} if "%(" in query else None)


# --- who may see what -------------------------------------------------------------------------------------------


def test_who_was_removed_sees_nothing_on_a_standby_that_does_not_know_it(
    standby: Servers, cast: Cast, scene: Scene, client_as: ClientAs, settings: Any
) -> None:
    settings.DATABASE_REPLICA_LAG_SECONDS = 0.1
    client = client_as(cast.auditor)
    pages = [
        reverse("audit:trail"), scene.comparison.get_absolute_url(), reverse("review:as-of", args=[scene.run.pk]),
        reverse("api:comparison-candidates", args=[scene.comparison.pk]),
    ]  # fmt: skip
    assert [client.get(page).status_code for page in pages] == [200] * len(pages)
    standby.catch_up()
    standby.pause()

    Membership.objects.filter(user=cast.auditor).delete()

    refused = [client.get(page).status_code for page in pages]
    assert refused == [403, 404, 404, 404]


def test_what_was_restricted_or_erased_is_not_read_from_an_old_copy(
    standby: Servers, cast: Cast, scene: Scene, settings: Any
) -> None:
    settings.DATABASE_REPLICA_LAG_SECONDS = 0.1

    @from_replica
    def seen() -> list[str]:
        return list(Document.objects.visible_to(cast.auditor).values_list("name", flat=True))

    standby.catch_up()
    assert seen() == [scene.document.name]
    standby.pause()
    Document.objects.filter(pk=scene.document.pk).update(name="d1 (erased)")
    assert seen() == ["d1 (erased)"]
    Restriction.objects.create(document=scene.document, set_by=cast.admin)
    assert seen() == []


def test_tables_of_rights_and_of_waiting_work_are_the_primary_s(standby: Servers) -> None:
    @from_replica
    def databases() -> dict[str, str]:
        named = {model._meta.label_lower: model for model in (User, Membership, Restriction, QueueItem, Run)}
        named |= {"documents.restriction_readers": Restriction.readers.through}
        return {name: model.objects.db for name, model in named.items()}

    found = databases()
    assert found.pop("questions.run") == ALIAS
    assert set(found.values()) == {"default"}


def test_the_names_of_tables_exist() -> None:
    from django.apps import apps

    named = {model._meta.label_lower for model in apps.get_models(include_auto_created=True)}
    assert named >= replica.NEVER
    assert {app.label for app in apps.get_app_configs()} >= replica.READ


# --- exports ----------------------------------------------------------------------------------------------------


def test_an_export_has_what_was_committed_when_it_was_asked_for(
    standby: Servers, cast: Cast, scene: Scene, settings: Any
) -> None:
    settings.DATABASE_REPLICA_LAG_SECONDS = 0.1
    standby.pause()
    candidate = scene.run.candidates.filter(verdict__role="discarded").first()
    candidate_override(
        actor=cast.reviewer,
        candidate=candidate,
        role="primary",
        reason_code="wrong_role",
        comment="decided late",
    )
    with CaptureQueriesContext(connections[ALIAS]) as there:
        files = made(run_export(actor=cast.auditor, run=scene.run))
    assert "decided late" in files[f"run-{scene.run.pk}.html"].decode()
    assert '"questions_run"' not in tables(there)


def test_an_export_reads_from_the_standby(standby: Servers, cast: Cast, scene: Scene) -> None:
    """A period goes through a cursor of the server, counts its steps on the primary, and ends with the trail."""
    ask = period_export(actor=cast.auditor, collection=cast.alpha, since=ERA[0], until=ERA[1])
    with CaptureQueriesContext(connections[ALIAS]) as there:
        ((name, content),) = made(ask).items()
    assert name.endswith(".zip")
    assert len(content) > 1000
    assert 'FROM "questions_candidate"' in tables(there)
    ask.refresh_from_db()
    assert ask.done == ask.total > 0


def test_an_export_goes_on_when_the_standby_is_killed(
    standby: Servers, cast: Cast, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workbench.exports import services

    inner, calls = services.run_report, []

    def killed_first(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            standby.kill()
        return inner(*arguments, **options)

    ask = run_export(actor=cast.auditor, run=scene.run)
    with monkeypatch.context() as patch:
        patch.setattr(services, "run_report", killed_first)
        files = made(ask)
    assert len(calls) == 2
    assert len(files) == ask.files.count() >= 3


# --- which acts -------------------------------------------------------------------------------------------------

#: Every address whose answer may come from a standby, and the method of its view where there are several.
READING = {
    "api:audit-event-detail retrieve", "api:audit-event-list list",
    "api:collection-progress progress", "api:collection-trust trust",
    "api:comparison-candidates candidates", "api:comparison-detail retrieve", "api:comparison-list list",
    "api:costs month", "api:labels-agreement agreement", "api:labels-export export", "api:period-report-list list",
    "audit:trail", "labeling:agreement", "labeling:export", "ops:costs", "ops:costs-export", "ops:progress",
    "ops:trust", "question_sets:export", "questions:comparison", "review:as-of",
}  # fmt: skip


def reading_addresses() -> set[str]:
    return {name for name, view in _views(get_resolver(), "") if getattr(view, "reads_replica", False)}


def _views(resolver: URLResolver, space: str) -> Iterator[tuple[str, Any]]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from _views(entry, f"{space}{entry.namespace}:" if entry.namespace else space)
        elif isinstance(entry, URLPattern):
            name = f"{space}{entry.name}"
            actions = getattr(entry.callback, "actions", None)
            if actions:
                for action in set(actions.values()):
                    yield f"{name} {action}", getattr(entry.callback.cls, action)
            else:
                yield name, entry.callback


def test_only_these_addresses_may_be_answered_by_a_standby() -> None:
    """Queue, decisions and runs are not among them, nor any address that changes something."""
    assert reading_addresses() == READING


def test_queue_runs_and_decisions_never_ask_it(
    standby: Servers, cast: Cast, scene: Scene, client_as: ClientAs
) -> None:
    client = client_as(cast.reviewer)
    candidate = scene.run.candidates.filter(verdict__role="discarded").first()
    with CaptureQueriesContext(connections[ALIAS]) as there:
        for page in (reverse("home"), reverse("review:queue"), scene.run.get_absolute_url()):
            assert client.get(page).status_code == 200
        assert client.get(reverse("api:run-detail", args=[scene.run.pk])).status_code == 200
        candidate_override(actor=cast.reviewer, candidate=candidate, role="primary", reason_code="wrong_role")
        with pytest.raises(ObjectDoesNotExist):
            Run.objects.get(pk=0)
    assert list(there) == []


# --- what is told -----------------------------------------------------------------------------------------------


def test_operations_and_metrics_show_it(standby: Servers, cast: Cast, client_as: ClientAs) -> None:
    standby.catch_up()
    page = client_as(cast.staff).get(reverse("ops:operations")).content.decode()
    assert "Database replica" in page
    assert "in use for exports" in page
    shown = {metric.name: metric.samples[0].value for metric in figures.replica()}
    assert shown == {"workbench_replica_usable": 1, "workbench_replica_lag_seconds": 0}

    standby.kill()
    page = client_as(cast.staff).get(reverse("ops:operations")).content.decode()
    assert "does not answer" in page
    assert [(metric.name, metric.samples[0].value) for metric in figures.replica()] == [
        ("workbench_replica_usable", 0)
    ]


@pytest.fixture
def no_standby(servers: Servers, db: None) -> Iterator[None]:
    _forget()
    yield
    _configure(servers.standby)


def test_without_one_nothing_is_shown_or_asked(no_standby: None, cast: Cast, client_as: ClientAs) -> None:
    assert "Database replica" not in client_as(cast.staff).get(reverse("ops:operations")).content.decode()
    assert list(figures.replica()) == []
    client = client_as(cast.auditor)
    with CaptureQueriesContext(connection) as here:
        assert client.get(reverse("audit:trail")).status_code == 200
    assert "pg_control_system" not in tables(here)


def test_the_variable_configures_it() -> None:
    code = (
        "from django.conf import settings as s;"
        "print(sorted(s.DATABASES), s.DATABASE_ROUTERS, s.DATABASES['replica']['HOST'])"
    )
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "workbench.settings.test"}
    environment |= {"DATABASE_REPLICA_URL": "postgres://app@replica/w"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['default', 'replica'] ['workbench.infra.replica.Router'] replica"
