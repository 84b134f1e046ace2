"""What an upgrade in place must keep: every row, the trail, every page for everybody who had it, and work that goes on.

``make upgrade-test`` runs these against a database of its own; the tests below go in order, and the last ones write.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from tests.upgrade.conftest import GROWS, Upgraded
from tests.workbench.addresses import ALL, OF_PACKAGES, package_path, path_of
from tests.workbench.authorisation.parts import EVERYBODY, Row
from tests.workbench.authorisation.rows import OTHERS, ROWS
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.celery import app as celery
from workbench.documents.models import Collection, Document
from workbench.review.models import ItemState, Review, Signature
from workbench.review.signing import signature_holds
from workbench.runs.models import Candidate, Comparison, Run
from workbench.synonyms.models import DictionaryEntry

pytestmark = pytest.mark.upgrade

FEW = 4
ROLES = ("analyst", "reviewer", "annotator", "admin", "auditor")
ADDRESS = {address.name: address for address in [*ALL, *OF_PACKAGES]}
PAGES = [row for row in [*ROWS, *OTHERS] if row.method == "GET"]
#: Where the old installation differs from the scene of the table of rights.
DIFFERS = {
    # An archive of the other collection: its admin asked for it, and the demo's admin made that collection.
    "archives:archive": "Dd",
    "archives:fetch": "Dd",
    # A share of the cards is blind: a reviewer sees the machine's roles once they have decided.
    "api:comparison-candidates": "ANDU",
    # Nothing has to be prepared: the pair lies on the annotator's desk.
    "api:labeling-desk-detail": "N",
}


#: What the table of rights says of its scene, as the old installation calls it.
OF_OLD = {"alpha": "demo"}


def person(name: str) -> User:
    return User.objects.get(email=f"{name}@demo.example")


def everybody() -> dict[str, User | None]:
    """The letters of the table of rights as people of the old installation."""
    own = dict(zip("ARNDU", map(person, ROLES), strict=True))
    others = {letter.lower(): person(f"beta-{name}") for letter, name in zip("ARNDU", ROLES, strict=True)}
    people: dict[str, User | None] = {**own, **others, "S": person("staff"), "!": person("root"), "?": None}
    assert set(people) == set(EVERYBODY)
    return people


def client_of(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def the_scene() -> Scene:
    """What the old installation has of the things that addresses name: a run that is decided in part and not signed."""
    run = (
        Run.objects.select_related("question", "collection", "requested_by")
        .filter(collection__slug="demo", review_state="in_review", reviews__label__isnull=False)
        .earliest("pk")
    )
    comparison = Comparison.objects.earliest("pk")
    round_ = apps.get_model("question_sets", "Round").objects.earliest("pk")
    return Scene(
        document=Document.objects.get(name="amendment-no-1.md"),
        run=run,
        comparison=comparison,
        round=round_,
        entry=DictionaryEntry.objects.earliest("pk"),
    )


@pytest.fixture
def scene(db: None) -> Scene:
    return the_scene()


# --- what was kept ------------------------------------------------------------------------------------------


def test_every_row_is_still_there(upgraded: Upgraded) -> None:
    now = upgraded.rows()
    lost = {
        table: (rows, now.get(table))
        for table, rows in upgraded.rows_before.items()
        if now.get(table) != rows and not (table in GROWS and now.get(table, 0) >= rows)
    }
    assert lost == {}


def test_the_dump_has_rows_in_nearly_every_table(upgraded: Upgraded) -> None:
    empty = {table for table, rows in upgraded.rows_before.items() if not rows}
    assert empty <= {
        # Not used by the product: rights come from memberships, addresses are confirmed by the invitation.
        *("accounts_user_groups", "accounts_user_user_permissions", "auth_group", "auth_group_permissions"),
        *("account_emailconfirmation", "django_admin_log"),
    }


def test_no_migration_is_missing(upgraded: Upgraded) -> None:
    said = upgraded.manage("migrate", "--check")
    assert said.returncode == 0, said.stdout + said.stderr


def test_the_trail_verifies(upgraded: Upgraded) -> None:
    """By the command, as an administrator would; events that were not sealed before the upgrade are sealed by it."""
    said = upgraded.manage("verify_audit", "--json")
    assert said.returncode == 0, said.stdout + said.stderr
    assert json.loads(said.stdout)["events"] >= upgraded.rows_before["audit_seal"] > 500


def test_signatures_hold(db: None) -> None:
    standing = Signature.objects.filter(reopening__isnull=True).select_related("run")
    assert standing.count() >= 2
    assert all(signature_holds(signature=signature) for signature in standing)


# --- every page ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", PAGES, ids=lambda row: row.name)
def test_a_page_opens_for_exactly_these(row: Row, scene: Scene) -> None:
    address = ADDRESS[row.name]
    path = package_path(address) if address in OF_PACKAGES else path_of(address, scene)
    opened = "".join(letter for letter, user in everybody().items() if _opens(row, path, user, scene))
    expected = DIFFERS.get(row.name, row.who)
    if "S" in expected and "D" not in expected:
        expected += "D"  # the demo's admin is staff as well
    assert sorted(opened) == sorted(expected)


def _opens(row: Row, path: str, user: User | None, scene: Scene) -> bool:
    with transaction.atomic():
        if row.name not in DIFFERS:
            row.given(scene, user or scene.run.requested_by)
        asked = {name: OF_OLD.get(value, value) for name, value in row.data(scene).items()}
        response = client_of(user).get(path, asked)
        assert response.status_code < 500, f"{path} as {user}: {response.status_code}"
        if response.status_code in {301, 302}:
            return not response["Location"].startswith(("/accounts/login/", "/backdoor/login/"))
        if response.streaming:
            list(response.streaming_content)
        transaction.set_rollback(True)
    return bool(response.status_code == 200)


def old_objects() -> Iterator[Any]:
    """What the old installation has that has a page of its own: of each kind the first few and the last few."""
    for model in apps.get_models():
        if hasattr(model, "get_absolute_url"):
            keys = list(model._default_manager.order_by("pk").values_list("pk", flat=True))
            few = {*keys[:FEW], *keys[-FEW:]}
            yield from model._default_manager.filter(pk__in=few).order_by("pk")


def test_every_object_of_old_still_has_its_page(scene: Scene) -> None:
    """Each run, document, export, training and so on, for a member of each role: an answer, and for some the page."""
    clients = [client_of(person(name)) for name in (*ROLES, "beta-admin")]
    unseen, kinds = [], set()
    for thing in old_objects():
        kinds.add(type(thing).__name__)
        collection = thing if isinstance(thing, Collection) else getattr(thing, "collection", None)
        if collection is not None and not collection.memberships.exists():
            continue  # made by an evaluation, for nobody
        path = thing.get_absolute_url()
        answers = [client.get(path).status_code for client in clients]
        assert max(answers) < 500, (path, answers)
        if 200 not in answers and 302 not in answers:
            unseen.append((path, answers))
    assert unseen == []
    assert {"Run", "Document", "Collection"} <= kinds


# --- work goes on -------------------------------------------------------------------------------------------


def test_a_card_of_old_is_decided(scene: Scene) -> None:
    item = (
        scene.run.queue_items.filter(
            state=ItemState.WAITING, stage="first", candidate__verdict__role__isnull=False
        )
        .select_related("candidate")
        .first()
    )
    assert item is not None
    client = client_of(person("reviewer"))
    page = client.get(reverse("review:item", args=[item.pk]))
    assert page.status_code == 200
    seen = Review.objects.count()
    done = client.post(reverse("review:approve", args=[item.candidate.pk]))
    assert done.status_code < 400, done.content[:2000]
    assert Review.objects.count() == seen + 1
    item.refresh_from_db()
    assert item.state == ItemState.DECIDED
    assert AuditEvent.objects.latest("pk").object_type


@pytest.fixture
def tasks_run_at_once() -> Iterator[None]:
    celery.conf.task_always_eager = True
    yield
    celery.conf.task_always_eager = False


def test_a_new_question_is_answered(
    upgraded: Upgraded, django_db_setup: None, django_db_blocker: Any, tasks_run_at_once: None
) -> None:
    """By today's detectors on vectors and tokens of old. All is committed, and tasks run as soon as it is."""
    with django_db_blocker.unblock():
        asked = {
            "collection": "demo",
            "text": "Within how many days must the Client pay an invoice that it does not dispute?",
            "strategy": "offline",
        }
        analyst, before = person("analyst"), Run.objects.count()
        answer = client_of(analyst).post(reverse("questions:ask"), asked)
        assert answer.status_code == 302, answer.content[:2000]
        run = Run.objects.latest("pk")
        assert Run.objects.count() == before + 1
        assert (run.status, run.failure_reason) == ("done", "")
        roles = set(Candidate.objects.filter(run=run).values_list("verdict__role", flat=True))
        assert "discarded" in roles
        assert AuditEvent.objects.filter(action="run.finished", object_id=str(run.pk)).count() == 1
        for name in ROLES:
            assert client_of(person(name)).get(run.get_absolute_url()).status_code == 200
        connection.close()
    said = upgraded.manage("verify_audit", "--json")
    assert said.returncode == 0, said.stdout + said.stderr
