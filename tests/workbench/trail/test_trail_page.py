"""The trail page: who sees which events, the filter, the pages, the verification."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from tests.workbench.audit.conftest import Record, as_superuser
from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import queries_of
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.audit.services import audit_seal_all
from workbench.trail.selectors import TrailFilter, history_of, trail_page

ClientAs = Callable[[User | None], Client]

READERS = {"admin", "auditor"}


@pytest.fixture
def trail(cast: Cast, record: Record) -> dict[str, AuditEvent]:
    """Events of both collections and of the installation, sealed."""
    events = {
        "alpha": record("verdict.overridden", obj=cast.alpha, before={"role": "primary"},
                        after={"role": "discarded"}, reason="quote not in source"),
        "beta": record("verdict.approved", obj=cast.beta),
        "installation": record("account.created", obj=cast.analyst),
        "gone": record("document.deleted", object_type="document", object_id=42, collection_id=999_999),
    }  # fmt: skip
    audit_seal_all()
    return events


def shown(user: User, **filters: object) -> set[str]:
    return {row.action for row in trail_page(user=user, filters=TrailFilter(**filters)).rows}


def test_events_are_read_by_admins_and_auditors_of_their_collection(
    cast: Cast, trail: dict[str, AuditEvent]
) -> None:
    for name, user in cast.members.items():
        assert shown(user) == ({"verdict.overridden"} if name in READERS else set()), name
    for role, user in cast.outsiders.items():
        assert shown(user) == ({"verdict.approved"} if role in READERS | {"every"} else set()), role


def test_staff_read_the_installation_and_what_collections_left_behind(
    cast: Cast, trail: dict[str, AuditEvent]
) -> None:
    assert shown(cast.staff) == {"account.created", "document.deleted"}
    User.objects.filter(pk=cast.staff.pk).update(is_active=False)
    cast.staff.refresh_from_db()
    assert shown(cast.staff) == set()


def test_the_system_reads_everything(trail: dict[str, AuditEvent]) -> None:
    assert len(shown(User.objects.system())) == 4


def test_the_page_by_role(cast: Cast, trail: dict[str, AuditEvent], client_as: ClientAs) -> None:
    url = reverse("audit:trail")
    for name, user in cast.members.items():
        for method in ("get", "post"):
            target = url if method == "get" else reverse("audit:verify")
            answer = getattr(client_as(user), method)(target)
            assert answer.status_code == (200 if name in READERS else 403), (name, method)
    assert client_as(None).get(url)["Location"].startswith(reverse("account_login"))
    assert client_as(cast.staff).get(url).status_code == 200


def test_the_page_shows_before_and_after(
    cast: Cast, trail: dict[str, AuditEvent], client_as: ClientAs
) -> None:
    page = client_as(cast.auditor).get(reverse("audit:trail")).content.decode()
    for text in ("<del>primary</del>", "<ins>discarded</ins>", "quote not in source", "Ada", "collection"):
        assert text in page
    assert "verdict.approved" not in page
    assert trail["alpha"].seal.hash in page


def test_a_collection_of_others_does_not_exist(
    cast: Cast, trail: dict[str, AuditEvent], client_as: ClientAs
) -> None:
    client = client_as(cast.auditor)
    for slug in ("beta", "gamma", "~"):
        assert client.get(reverse("audit:trail"), {"collection": slug}).status_code == 404
    assert client_as(cast.staff).get(reverse("audit:trail"), {"collection": "~"}).status_code == 200


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, {"one", "two", "three"}),
        ({"action": "verdict."}, {"one", "two"}),
        ({"action": "erdict"}, set()),
        ({"actor": "ada"}, {"one", "two"}),
        ({"actor": "ADMIN@example.org"}, {"three"}),
        ({"object_type": "candidate"}, {"one", "two"}),
        ({"object_type": "candidate", "object_id": "7"}, {"one"}),
        ({"request_id": "req-9"}, {"three"}),
        ({"collection": "alpha"}, {"one", "two", "three"}),
        ({"since": "2026-03-02"}, {"two", "three"}),
        ({"until": "2026-03-02"}, {"one", "two"}),
        ({"since": "2026-03-02", "until": "2026-03-02"}, {"two"}),
        ({"until": "9999-12-31"}, {"one", "two", "three"}),
        ({"action": "verdict.", "actor": "ada", "object_id": "8"}, {"two"}),
    ],
)
def test_the_filter(
    cast: Cast, record: Record, client_as: ClientAs, query: dict[str, str], expected: set[str]
) -> None:
    alpha = {"collection_id": cast.alpha.pk}
    events = [
        record("verdict.overridden", object_type="candidate", object_id=7, reason="mark-one", **alpha),
        record("verdict.approved", object_type="candidate", object_id=8, reason="mark-two", **alpha),
        record("run.signed", object_type="run", object_id=7, actor=cast.admin, reason="mark-three", **alpha),
    ]
    for day, event in enumerate(events, start=1):
        as_superuser("UPDATE audit_event SET created_at = %s WHERE id = %s",
                     dt.datetime(2026, 3, day, 23, 59, tzinfo=dt.UTC), event.pk)  # fmt: skip
    as_superuser("UPDATE audit_event SET request_id = 'req-9' WHERE id = %s", events[2].pk)
    page = client_as(cast.admin).get(reverse("audit:trail"), query).content.decode()
    assert {word for word in ("one", "two", "three") if f"mark-{word}" in page} == expected


def test_a_filter_that_is_wrong_says_so(cast: Cast, client_as: ClientAs) -> None:
    page = client_as(cast.admin).get(reverse("audit:trail"), {"since": "yesterday", "before": "x"})
    assert page.status_code == 200
    assert "Enter a valid date" in page.content.decode()


@pytest.mark.parametrize("value", ["99999999999999999999999", "-1", "%00", "' OR 1=1 --"])
def test_hostile_parameters_are_harmless(cast: Cast, client_as: ClientAs, value: str) -> None:
    client = client_as(cast.admin)
    names = ("action", "actor", "object_type", "object_id", "since", "until", "request_id", "before", "after")
    for name in names:
        assert client.get(reverse("audit:trail"), {name: value}).status_code == 200, name
        assert client.get(f"{reverse('audit:trail')}?{name}=%00").status_code == 400, "NUL is in no address"


def test_text_of_people_is_escaped(cast: Cast, record: Record, client_as: ClientAs) -> None:
    script = "<script>alert(1)</script>"
    record("comment.added", obj=cast.alpha, reason=script, after={script: script})
    page = client_as(cast.admin).get(reverse("audit:trail"), {"request_id": ""}).content.decode()
    assert script not in page


def test_pages_go_there_and_back(cast: Cast, record: Record) -> None:
    numbers = [record("comment.added", obj=cast.alpha).pk for _ in range(7)][::-1]

    def page(**cursor: int) -> tuple[list[int], int | None, int | None]:
        found = trail_page(user=cast.admin, filters=TrailFilter(), limit=3, **cursor)
        return [row.id for row in found.rows], found.newer, found.older

    assert page() == (numbers[:3], None, numbers[2])
    assert page(before=numbers[2]) == (numbers[3:6], numbers[3], numbers[5])
    assert page(before=numbers[5]) == (numbers[6:], numbers[6], None)
    assert page(after=numbers[6]) == (numbers[3:6], numbers[3], numbers[5])
    assert page(after=numbers[3]) == (numbers[:3], None, numbers[2])


def test_links_of_the_pager_keep_the_filter(cast: Cast, record: Record, client_as: ClientAs) -> None:
    for _ in range(60):
        record("comment.added", obj=cast.alpha)
    page = client_as(cast.admin).get(reverse("audit:trail"), {"action": "comment."})
    assert len(page.context["rows"]) == 50
    following = client_as(cast.admin).get(page.context["pager"]["next_url"])
    assert len(following.context["rows"]) == 10
    assert "action=comment." in following.context["pager"]["previous_url"]


def test_a_page_costs_three_queries(  # its rows, and which decisions and which pairs are hidden from this reader
    cast: Cast, record: Record, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(20):
        record("comment.added", obj=cast.alpha)
    audit_seal_all()
    with django_assert_num_queries(3):  # two in a request with a session, which reads the person's roles once
        assert len(trail_page(user=cast.admin, filters=TrailFilter()).rows) == 20


def test_more_rows_cost_no_more_queries(cast: Cast, record: Record, client_as: ClientAs) -> None:
    client, counts = client_as(cast.admin), []
    for _ in range(2):
        for _ in range(10):
            record("comment.added", obj=cast.alpha)
        audit_seal_all()
        counts.append(queries_of(client, reverse("audit:trail")))
    assert counts[0] == counts[1] <= 8


def test_verification_from_the_page(cast: Cast, trail: dict[str, AuditEvent], client_as: ClientAs) -> None:
    client = client_as(cast.auditor)
    assert client.get(reverse("audit:verify")).status_code == 405
    page = client.post(reverse("audit:verify")).content.decode()
    assert "The chain is whole" in page
    assert trail["gone"].seal.hash in page
    as_superuser("UPDATE audit_event SET reason = 'x' WHERE id = %s", trail["beta"].pk)
    page = client.post(reverse("audit:verify")).content.decode()
    assert "The chain is broken" in page
    assert f"First broken: event {trail['beta'].pk}" in page


def test_the_history_of_an_object_and_its_parts(
    cast: Cast, record: Record, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    record("collection.created", obj=cast.alpha)
    record("account.created", obj=cast.analyst)
    record("collection.created", obj=cast.beta)
    record("collection.changed", obj=cast.alpha)
    with django_assert_num_queries(1):
        assert [row.action for row in history_of(cast.alpha)] == ["collection.created", "collection.changed"]
    assert [row.action for row in history_of(cast.alpha, cast.analyst)] == [
        "collection.created",
        "account.created",
        "collection.changed",
    ]


@pytest.mark.parametrize(
    ("details", "url"),
    [
        ({"object_type": "document", "object_id": 7}, "/documents/7/"),
        ({"object_type": "run", "object_id": 7}, "/runs/7/"),
        ({"object_type": "candidate", "object_id": 9, "after": {"run": 7}}, "/runs/7/"),
        ({"object_type": "candidate", "object_id": 9}, ""),
        ({"object_type": "document", "object_id": "not-a-number"}, ""),
        ({"object_type": "membership", "object_id": 7}, ""),
    ],
)
def test_an_event_links_to_the_page_of_its_object(
    cast: Cast, record: Record, details: dict[str, object], url: str
) -> None:
    record("comment.added", collection_id=cast.alpha.pk, **details)
    (row,) = trail_page(user=cast.admin, filters=TrailFilter()).rows
    assert row.object_url == url
