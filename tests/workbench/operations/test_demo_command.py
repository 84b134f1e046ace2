"""``manage.py create_demo``: what it makes, that it may run again, and where it refuses."""

from __future__ import annotations

import json
import stat
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from workbench.accounts.models import MemberRole, Membership, User
from workbench.audit.models import AuditEvent
from workbench.documents.models import Collection, Document
from workbench.operations.demo.library import DEMO_DOCUMENTS
from workbench.operations.demo.logins import demo_passwords
from workbench.operations.demo.people import DEMO_PEOPLE

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def home(settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.WORKBENCH_HOME = tmp_path
    storage = dict(settings.STORAGES["default"])
    storage["OPTIONS"] = {**storage["OPTIONS"], "location": str(tmp_path / "files")}
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    monkeypatch.delenv("WORKBENCH_DEMO_PASSWORD", raising=False)
    return tmp_path


def create_demo(*arguments: str) -> dict:
    output = StringIO()
    call_command("create_demo", "--json", *arguments, stdout=output)
    return json.loads(output.getvalue())


def test_reports_collection_documents_and_logins() -> None:
    report = create_demo()

    assert report["collection"] == "demo"
    assert report["documents"] == [{"name": document.name, "status": "queued"} for document in DEMO_DOCUMENTS]
    assert [(login["role"], login["email"]) for login in report["logins"]] == [
        (str(person.role), person.email) for person in DEMO_PEOPLE
    ]


def test_there_is_a_member_of_each_role_and_a_second_reviewer() -> None:
    create_demo()

    roles = list(Membership.objects.filter(collection__slug="demo").values_list("role", flat=True))
    assert set(roles) == set(MemberRole.values)
    assert roles.count(MemberRole.REVIEWER) == 2
    assert list(User.objects.filter(is_staff=True).values_list("email", flat=True)) == ["admin@demo.example"]


def test_everybody_can_log_in_with_what_was_printed(client) -> None:
    for login in create_demo()["logins"]:
        assert client.login(email=login["email"], password=login["password"])


def test_a_second_run_changes_nothing_and_prints_the_same() -> None:
    first = create_demo()
    events = AuditEvent.objects.count()

    assert create_demo() == first
    assert AuditEvent.objects.count() == events
    assert Document.objects.count() == len(DEMO_DOCUMENTS)
    assert Membership.objects.count() == len(DEMO_PEOPLE)


def test_passwords_are_kept_where_only_the_owner_reads(home: Path) -> None:
    report = create_demo()

    kept = home / "demo_logins.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert json.loads(kept.read_text()) == {login["email"]: login["password"] for login in report["logins"]}
    assert len({login["password"] for login in report["logins"]}) == len(DEMO_PEOPLE)
    one = report["logins"][0]
    assert demo_passwords([one["email"]]) == {one["email"]: one["password"]}
    assert len(json.loads(kept.read_text())) == len(DEMO_PEOPLE), "asking for one forgets no other"


def test_a_damaged_password_file_gives_new_passwords_that_work(home: Path, client) -> None:
    create_demo()
    (home / "demo_logins.json").write_text("{", encoding="utf-8")

    for login in create_demo()["logins"]:
        assert client.login(email=login["email"], password=login["password"])


def test_the_environment_gives_everybody_one_password(monkeypatch: pytest.MonkeyPatch, client) -> None:
    monkeypatch.setenv("WORKBENCH_DEMO_PASSWORD", "a-word-for-tests-only")

    report = create_demo()

    assert {login["password"] for login in report["logins"]} == {"a-word-for-tests-only"}
    assert client.login(email="auditor@demo.example", password="a-word-for-tests-only")


def test_documents_carry_what_an_analyst_would_write_on_the_cover() -> None:
    create_demo()

    amendment = Document.objects.get(name="amendment-no-1.md")
    assert amendment.document_type == "contract"
    assert amendment.effective_date.isoformat() == "2025-09-15"
    assert "amendment" in amendment.tags
    assert amendment.uploaded_by == User.objects.system()


def test_documents_are_dispatched_to_the_workers(django_capture_on_commit_callbacks, monkeypatch) -> None:
    sent = []
    monkeypatch.setattr("workbench.infra.dispatch.dispatch", lambda task, **arguments: sent.append(arguments))

    with django_capture_on_commit_callbacks(execute=True):
        create_demo()

    assert {row["document_id"] for row in sent} == set(Document.objects.values_list("pk", flat=True))


def test_everything_is_in_the_trail_under_one_request() -> None:
    create_demo()

    events = AuditEvent.objects.all()
    assert set(events.values_list("action", flat=True)) == {
        "collection.created", "account.created", "membership.granted", "document.uploaded", "document.described",
        "review_policy.changed",
    }  # fmt: skip
    (request_id,) = set(events.values_list("request_id", flat=True))
    assert request_id.startswith("create_demo-")
    assert set(events.values_list("actor_name", flat=True)) == {"system"}
    assert "password" not in json.dumps(list(events.values("before", "after")))


def test_production_settings_refuse_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "workbench.settings.production")

    with pytest.raises(CommandError, match="--yes"):
        create_demo()
    assert not Collection.objects.exists()
    assert create_demo("--yes")["collection"] == "demo"


def test_people_read_tables() -> None:
    output = StringIO()
    call_command("create_demo", stdout=output)

    assert "queued  information-security-policy.md" in output.getvalue()
    assert "reviewer2@demo.example" in output.getvalue()
