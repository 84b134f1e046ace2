"""How the caller is told, and in which language, by the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.workbench.cast import Cast
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.api.tokens import token_create
from workbench.audit.models import AuditEvent
from workbench.documents.models import Document
from workbench.review.models import Notification, NotificationKind, NotificationWish
from workbench.review.notifications import notify, unread

ClientAs = Callable[[User | None], Client]
WISH = "/api/v1/notifications/wish/"
READ = "/api/v1/notifications/read/"
LANGUAGE = "/api/v1/language/"


def post(client: Client, path: str, body: dict[str, Any] | None = None, **headers: str) -> Any:
    return client.post(path, body or {}, content_type="application/json", headers=headers)


def test_whoever_wishes_no_mail_says_so(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.reviewer)
    assert client.get(WISH).json() == {"email": "daily"}
    for wish in ("none", "each"):
        changed = post(client, WISH, {"email": wish})
        assert (changed.status_code, changed.json()) == (200, {"email": wish})
        assert client.get(WISH).json() == {"email": wish}
    assert client_as(cast.analyst).get(WISH).json() == {"email": "daily"}, "each person's own"


def test_the_language_is_that_of_pages(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.reviewer)
    assert client.get(LANGUAGE).json() == {"language": ""}
    chosen = post(client, LANGUAGE, {"language": "es"})
    assert (chosen.status_code, chosen.json()) == (200, {"language": "es"})
    assert 'lang="es"' in client.get("/queue/").content.decode()
    assert User.objects.exclude(language="").get() == cast.reviewer


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (WISH, {}),
        (WISH, {"email": ""}),
        (WISH, {"email": "hourly"}),
        (LANGUAGE, {}),
        (LANGUAGE, {"language": ""}),
        (LANGUAGE, {"language": "tlh"}),
        (READ, {"ids": [0]}),
        (READ, {"ids": "all"}),
        (READ, {"ids": [2**63]}),
    ],
)
def test_nonsense_is_refused_by_its_field(
    path: str, body: dict[str, Any], cast: Cast, client_as: ClientAs
) -> None:
    refused = post(client_as(cast.reviewer), path, body)
    assert (refused.status_code, refused["Content-Type"]) == (400, "application/problem+json")
    assert refused.json()["code"] == "invalid"
    assert not NotificationWish.objects.exists()
    assert not User.objects.exclude(language="").exists()


@pytest.mark.parametrize("scopes", [[Permission.VIEW], [Permission.VIEW, Permission.AUDIT]])
def test_a_token_that_only_reads_reads_them(scopes: list[Permission], cast: Cast, client: Client) -> None:
    """A key that leaks from a program that looks on does not silence the mails of its owner."""
    for given, code in ((scopes, 403), ([*scopes, Permission.REVIEW], 200)):
        _token, key = token_create(actor=cast.reviewer, name="job", scopes=given, days=1)
        bearer = {"Authorization": f"Bearer {key}"}
        for path, body in ((WISH, {"email": "none"}), (LANGUAGE, {"language": "es"})):
            assert client.get(path, headers=bearer).status_code == 200
            assert post(client, path, body, **bearer).status_code == code


def test_preferences_are_no_events(cast: Cast, client_as: ClientAs) -> None:
    before = AuditEvent.objects.count()
    client = client_as(cast.reviewer)
    first, again = (post(client, WISH, {"email": "none"}, **{"Idempotency-Key": "k"}) for _ in "12")
    assert (first.json(), again["Idempotency-Replayed"]) == (again.json(), "true")
    post(client, LANGUAGE, {"language": "es"})
    assert AuditEvent.objects.count() == before


@pytest.mark.usefixtures("here")
def test_some_notifications_are_read_or_all(cast: Cast, client_as: ClientAs) -> None:
    from tests.workbench.labeling.makers import make_project
    from tests.workbench.scene import make_run

    make_project(cast)
    run = make_run(asker=cast.analyst, document=Document.objects.get())
    told = [cast.reviewer, cast.second_reviewer]
    for _ in range(3):
        notify(users=told, kind=NotificationKind.MENTION, actor=cast.analyst, run=run)
    mine, others = (list(Notification.objects.filter(user=user)) for user in told)
    client = client_as(cast.reviewer)

    assert post(client, READ, {"ids": [mine[0].pk, others[0].pk]}).status_code == 204
    assert set(unread(user=cast.reviewer)) == set(mine[1:])
    assert unread(user=cast.second_reviewer).count() == 3, "not those of others"
    assert post(client, READ, {"ids": []}).status_code == 204
    assert unread(user=cast.reviewer).count() == 2
    assert post(client, READ).status_code == 204
    assert not unread(user=cast.reviewer).exists()
