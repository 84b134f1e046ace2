"""The people of a collection and their roles by the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from tests.workbench.cast import PASSWORD, Cast
from tests.workbench.pages.conftest import queries_of
from workbench.accounts.models import MemberRole, Membership, User
from workbench.accounts.permissions import Permission
from workbench.api.tokens import token_create
from workbench.audit.models import AuditEvent

ClientAs = Callable[[User | None], Client]
PEOPLE = "/api/v1/collections/alpha/people/"
NEW = {"email": "New.One@example.org", "role": "reviewer", "name": "New One"}


def post(client: Client, path: str, body: dict[str, Any] | None = None, **headers: str) -> Any:
    return client.post(path, body or {}, content_type="application/json", headers=headers)


def of(person: User, act: str) -> str:
    """The address of an act on a member."""
    return f"{PEOPLE}{person.pk}/{act}/"


def roles_of(person: User, cast: Cast) -> set[str]:
    return set(Membership.objects.filter(user=person, collection=cast.alpha).values_list("role", flat=True))


def test_an_auditor_reads_who_belongs_and_as_what(cast: Cast, client_as: ClientAs) -> None:
    Membership.objects.create(user=cast.analyst, collection=cast.alpha, role=MemberRole.AUDITOR)
    Membership.objects.create(user=cast.analyst, collection=cast.beta, role=MemberRole.ADMIN)
    User.objects.filter(pk=cast.annotator.pk).update(password="!", is_active=False)

    rows = {row["id"]: row for row in client_as(cast.auditor).get(PEOPLE).json()["results"]}

    assert set(rows) == {person.pk for person in cast.members.values()}, "nobody of another collection"
    assert rows[cast.analyst.pk] == {
        "id": cast.analyst.pk,
        "name": "Analyst",
        "email": "analyst@example.org",
        "roles": ["analyst", "auditor"],
        "is_waiting": False,
        "is_active": True,
    }
    gone = rows[cast.annotator.pk]
    assert (gone["is_waiting"], gone["is_active"]) == (True, False)


def test_the_list_is_read_page_by_page_with_few_queries(cast: Cast, client_as: ClientAs) -> None:
    few = queries_of(client_as(cast.auditor), PEOPLE)
    for number in range(30):
        person = User.objects.create_user(f"p{number}@example.org", name=f"P {number}")
        Membership.objects.create(user=person, collection=cast.alpha, role=MemberRole.ANALYST)
    assert queries_of(client_as(cast.auditor), PEOPLE) <= few <= 12

    client, path, seen = client_as(cast.auditor), f"{PEOPLE}?page_size=10", []
    while path:
        page = client.get(path).json()
        seen += [row["id"] for row in page["results"]]
        path = page["next"]
    assert seen == sorted(set(seen), reverse=True)
    assert len(seen) == 30 + len(cast.members)


def test_somebody_new_gets_an_account_and_a_message(
    cast: Cast, client_as: ClientAs, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        answer = post(client_as(cast.admin), PEOPLE, NEW)
    person = User.objects.get(email="new.one@example.org")
    assert answer.status_code == 201
    assert answer.json() == {
        "id": person.pk,
        "name": "New One",
        "email": "new.one@example.org",
        "roles": ["reviewer"],
        "is_waiting": True,
        "is_active": True,
    }
    assert [message.to for message in mail.outbox] == [["new.one@example.org"]]
    assert "http://testserver/accounts/password/reset/key/" in mail.outbox[0].body

    with django_capture_on_commit_callbacks(execute=True):
        again = post(client_as(cast.admin), of(person, "invite"))
    assert (again.status_code, len(mail.outbox)) == (202, 2)
    assert post(client_as(cast.admin), of(cast.analyst, "invite")).json()["code"] == "conflict"


def test_a_person_of_another_collection_is_given_a_role_by_address(cast: Cast, client_as: ClientAs) -> None:
    answer = post(client_as(cast.admin), PEOPLE, {"email": "outsider@example.org", "role": "annotator"})
    assert (answer.status_code, answer.json()["roles"]) == (201, ["annotator"])
    assert mail.outbox == []


def test_an_admin_gives_and_takes_roles_on_record(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.admin)
    given = post(client, of(cast.analyst, "grant"), {"role": "reviewer"})
    assert (given.status_code, given.json()["roles"]) == (200, ["analyst", "reviewer"])
    taken = post(client, of(cast.analyst, "revoke"), {"role": "analyst", "reason": "Moved."})
    assert (taken.status_code, taken.json()["roles"]) == (200, ["reviewer"])
    event = AuditEvent.objects.get(action="membership.revoked")
    assert (event.reason, event.object_id) == ("Moved.", str(cast.analyst.pk))

    last = post(client, of(cast.analyst, "revoke"), {"role": "reviewer"})
    assert last.json()["roles"] == []
    assert post(client, of(cast.analyst, "grant"), {"role": "analyst"}).status_code == 404, (
        "no member any more"
    )


def test_a_collection_keeps_an_admin(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.admin)
    refused = post(client, of(cast.admin, "revoke"), {"role": "admin"})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    post(client, of(cast.analyst, "grant"), {"role": "admin"})
    assert post(client, of(cast.admin, "revoke"), {"role": "admin"}).json()["roles"] == []
    assert client.get(PEOPLE).status_code == 404
    assert roles_of(cast.analyst, cast) == {"analyst", "admin"}


@pytest.mark.parametrize(
    ("act", "body", "field"),
    [
        ("", {"email": "nobody", "role": "analyst"}, "email"),
        ("", {"email": "new@example.org", "role": "emperor"}, "role"),
        ("", {"email": "new@example.org"}, "role"),
        ("grant", {"role": "emperor"}, "role"),
        ("grant", {}, "role"),
        ("revoke", {"role": "analyst", "reason": "x" * 501}, "reason"),
    ],
)
def test_nonsense_is_refused_by_its_field(
    act: str, body: dict[str, Any], field: str, cast: Cast, client_as: ClientAs
) -> None:
    path = of(cast.analyst, act) if act else PEOPLE
    refused = post(client_as(cast.admin), path, body)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid")
    assert list(refused.json()["errors"]) == [field]
    assert roles_of(cast.analyst, cast) == {"analyst"}


def test_taking_a_role_that_nobody_holds_is_a_conflict(cast: Cast, client_as: ClientAs) -> None:
    refused = post(client_as(cast.admin), of(cast.analyst, "revoke"), {"role": "reviewer"})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")


@pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator", "auditor", "outsider", "staff"])
def test_nobody_else_decides_who_belongs(name: str, cast: Cast, client_as: ClientAs) -> None:
    client = client_as(getattr(cast, name))
    before = set(Membership.objects.values_list("user", "role"))
    assert client.get(PEOPLE).status_code == (200 if name == "auditor" else 404)
    for path, body in (
        (PEOPLE, NEW),
        (of(cast.analyst, "grant"), {"role": "reviewer"}),
        (of(cast.analyst, "revoke"), {"role": "analyst"}),
        (of(cast.analyst, "invite"), {}),
    ):
        assert post(client, path, body).status_code == 404
    assert set(Membership.objects.values_list("user", "role")) == before
    assert not User.objects.filter(email="new.one@example.org").exists()


def test_a_person_who_is_no_member_does_not_exist(cast: Cast, client_as: ClientAs) -> None:
    for key in (cast.outsider.pk, 10**17):
        path = f"{PEOPLE}{key}/grant/"
        assert post(client_as(cast.admin), path, {"role": "analyst"}).status_code == 404


def test_the_same_request_again_invites_once(cast: Cast, client_as: ClientAs) -> None:
    first, second = (post(client_as(cast.admin), PEOPLE, NEW, **{"Idempotency-Key": "k"}) for _ in "12")
    assert second.json() == first.json()
    assert second["Idempotency-Replayed"] == "true"
    assert AuditEvent.objects.filter(action="account.created").count() == 1


class TestWhoAsks:
    """A session shows again who uses it; a token needs the scope."""

    def test_an_old_session_is_told_to_show_who_it_is(
        self, cast: Cast, client_as: ClientAs, settings: Any
    ) -> None:
        settings.ASKS_AGAIN = True
        client = client_as(cast.admin)
        for path, body in ((PEOPLE, NEW), (of(cast.analyst, "grant"), {"role": "reviewer"})):
            refused = post(client, path, body)
            assert (refused.status_code, refused.json()["code"]) == (403, "reauthentication_required")
        assert client.get(PEOPLE).status_code == 200
        client.post("/accounts/reauthenticate/", {"password": PASSWORD})
        assert post(client, of(cast.analyst, "grant"), {"role": "reviewer"}).status_code == 200

    @pytest.mark.parametrize(
        ("scopes", "reads", "changes"),
        [
            ([Permission.VIEW], 404, 404),
            ([Permission.AUDIT], 200, 404),
            ([Permission.MANAGE], 404, 200),
        ],
    )
    def test_a_token_reads_to_audit_and_changes_to_manage(
        self, scopes: list[str], reads: int, changes: int, cast: Cast, client: Client
    ) -> None:
        _token, key = token_create(actor=cast.admin, name="directory", scopes=scopes, days=1)
        bearer = {"Authorization": f"Bearer {key}"}
        assert client.get(PEOPLE, headers=bearer).status_code == reads
        path = of(cast.analyst, "grant")
        assert post(client, path, {"role": "reviewer"}, **bearer).status_code == changes

    def test_the_trail_names_the_token_that_gave_a_role(self, cast: Cast, client: Client) -> None:
        """What it gave outlives it: whoever revokes it looks there."""
        token, key = token_create(actor=cast.admin, name="directory", scopes=[Permission.MANAGE], days=1)
        post(client, PEOPLE, NEW, Authorization=f"Bearer {key}")
        for action in ("account.created", "membership.granted", "account.invited"):
            assert AuditEvent.objects.get(action=action).after["api_token"] == token.pk
