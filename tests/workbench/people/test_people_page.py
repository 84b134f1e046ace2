"""The people page: auditors read it, admins change it, outsiders do not know that it is there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from tests.workbench.cast import Cast
from workbench.accounts.models import Membership, User
from workbench.accounts.selectors import people_of

ClientAs = Callable[[User | None], Client]

READERS = {"admin", "auditor"}


def roles_of(cast: Cast, user: User) -> set[str]:
    rows = Membership.objects.filter(collection=cast.alpha, user=user)
    return set(rows.values_list("role", flat=True))


def address(name: str, user: User | None = None) -> str:
    keys = {"slug": "alpha"} | ({"pk": user.pk} if user else {})
    return reverse(f"accounts:{name}", kwargs=keys)


def posts(cast: Cast) -> list[tuple[str, dict[str, str]]]:
    return [
        (address("invite"), {"email": "x@example.org", "role": "admin"}),
        (address("grant", cast.analyst), {"role": "admin"}),
        (address("revoke", cast.analyst), {"role": "analyst"}),
        (address("invite-again", cast.analyst), {}),
    ]


def test_readers_see_everybody(cast: Cast, client_as: ClientAs) -> None:
    for name, user in cast.members.items():
        page = client_as(user).get(address("people"))
        assert page.status_code == (200 if name in READERS else 404), name
        if name in READERS:
            assert all(member.email in page.content.decode() for member in cast.members.values())
            assert cast.outsider.email not in page.content.decode()


def test_only_admins_see_controls(cast: Cast, client_as: ClientAs) -> None:
    for user, shown in ((cast.admin, True), (cast.auditor, False)):
        page = client_as(user).get(address("people")).content.decode()
        assert (address("invite") in page) is shown
        assert (address("revoke", cast.analyst) in page) is shown


def test_outsiders_and_strangers_find_nothing(cast: Cast, client_as: ClientAs) -> None:
    addresses = [(address("people"), None), *posts(cast)]
    for user in (*cast.outsiders.values(), cast.staff):
        client = client_as(user)
        for url, data in addresses:
            answer = client.get(url) if data is None else client.post(url, data)
            assert answer.status_code == 404, (user, url)
    for url, data in addresses:
        answer = client_as(None).get(url) if data is None else client_as(None).post(url, data)
        assert answer.status_code == 302
        assert answer["Location"].startswith(reverse("account_login"))


def test_members_who_do_not_manage_change_nothing(cast: Cast, client_as: ClientAs) -> None:
    before = set(Membership.objects.values_list("pk", flat=True))
    for name, user in cast.members.items():
        if name != "admin":
            for url, data in posts(cast):
                assert client_as(user).post(url, data).status_code == 404, (name, url)
    assert set(Membership.objects.values_list("pk", flat=True)) == before


def test_a_role_is_given_and_taken(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.admin)
    client.post(address("grant", cast.analyst), {"role": "annotator"})
    assert roles_of(cast, cast.analyst) == {"analyst", "annotator"}
    client.post(address("revoke", cast.analyst), {"role": "analyst"})
    assert roles_of(cast, cast.analyst) == {"annotator"}


def test_the_roles_of_a_person_outside_are_out_of_reach(cast: Cast, client_as: ClientAs) -> None:
    url = address("grant", cast.outsider)
    assert client_as(cast.admin).post(url, {"role": "analyst"}).status_code == 404


def test_the_last_admin_stays_and_is_told_why(cast: Cast, client_as: ClientAs) -> None:
    url = address("revoke", cast.admin)
    page = client_as(cast.admin).post(url, {"role": "admin"}, follow=True)
    assert "keeps at least one admin" in page.content.decode()
    assert roles_of(cast, cast.admin) == {"admin"}


def test_an_unknown_role_says_so(cast: Cast, client_as: ClientAs) -> None:
    page = client_as(cast.admin).post(address("grant", cast.analyst), {"role": "owner"}, follow=True)
    assert "Choose one of the roles" in page.content.decode()


@pytest.mark.django_db(transaction=True)
def test_somebody_new_is_invited_and_sets_a_password(cast: Cast, client_as: ClientAs) -> None:
    form = {"email": "new@example.org", "name": "New Person", "role": "reviewer"}
    page = client_as(cast.admin).post(address("invite"), form, follow=True)
    assert "New Person is now reviewer" in page.content.decode()
    (message,) = mail.outbox
    link = next(line for line in message.body.splitlines() if line.startswith("http"))
    guest = client_as(None)
    choose = guest.get(link, follow=True)
    secret = "a-long-enough-secret-7"
    guest.post(choose.redirect_chain[-1][0], {"password1": secret, "password2": secret})
    assert User.objects.get(email="new@example.org").check_password(secret)
    # Used once, the link is worth nothing.
    assert b"password1" not in client_as(None).get(link, follow=True).content


def test_a_wrong_address_stays_in_the_form(cast: Cast, client_as: ClientAs) -> None:
    page = client_as(cast.admin).post(address("invite"), {"email": "nonsense", "role": "analyst"})
    assert page.status_code == 422
    assert "nonsense" in page.content.decode()


def test_people_cost_one_query(cast: Cast, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(1):
        people = people_of(collection=cast.alpha)
    assert [person.user.name for person in people] == sorted(user.name for user in cast.members.values())
