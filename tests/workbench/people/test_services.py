"""Accounts and roles: who may change them, what is refused, what is on record."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core import mail
from django.db import connections
from django.test import Client

from tests.workbench.cast import Cast
from workbench.accounts.models import MemberRole, Membership, User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.models import AuditEvent
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.people.services import (
    MOST_INVITATIONS_BY,
    MOST_INVITATIONS_TO,
    TooManyInvitations,
    invitation_send,
    membership_grant,
    membership_revoke,
    user_create,
    user_invite,
)


def build_url(path: str) -> str:
    return f"https://workbench.example{path}"


def last_event() -> AuditEvent:
    event = AuditEvent.objects.order_by("-pk").first()
    assert event is not None
    return event


def test_a_grant_gives_the_role_and_is_on_record(cast: Cast) -> None:
    membership_grant(actor=cast.admin, user=cast.analyst, collection=cast.alpha, role=MemberRole.REVIEWER)
    assert has_permission(cast.analyst, cast.alpha, Permission.REVIEW)
    event = last_event()
    assert (event.action, event.actor, event.object_type) == ("membership.granted", cast.admin, "user")
    assert (event.object_id, event.collection_id) == (str(cast.analyst.pk), cast.alpha.pk)
    assert (event.before, event.after) == (None, {"role": "reviewer"})


def test_the_same_grant_twice_is_one(cast: Cast) -> None:
    grants = [
        membership_grant(actor=cast.admin, user=cast.analyst, collection=cast.alpha, role="reviewer")
        for _ in range(2)
    ]
    assert grants[0] == grants[1]
    assert AuditEvent.objects.filter(action="membership.granted").count() == 1


@pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator", "auditor", "outsider", "staff"])
def test_only_admins_of_the_collection_change_roles(cast: Cast, name: str) -> None:
    actor = getattr(cast, name)
    with pytest.raises(NotAllowed):
        membership_grant(actor=actor, user=actor, collection=cast.alpha, role=MemberRole.ADMIN)
    with pytest.raises(NotAllowed):
        membership_revoke(actor=actor, user=cast.admin, collection=cast.alpha, role=MemberRole.ADMIN)
    with pytest.raises(NotAllowed):
        user_invite(
            actor=actor, collection=cast.alpha, email="x@example.org", role="admin", build_url=build_url
        )
    assert not AuditEvent.objects.exists()


def test_the_system_changes_roles(cast: Cast) -> None:
    system = User.objects.system()
    membership_grant(actor=system, user=cast.staff, collection=cast.alpha, role=MemberRole.AUDITOR)
    assert last_event().actor_kind == "system"


def test_nobody_logs_in_as_the_system_or_a_person_who_left(cast: Cast) -> None:
    User.objects.filter(pk=cast.staff.pk).update(is_active=False)
    cast.staff.refresh_from_db()
    for user in (User.objects.system(), cast.staff):
        with pytest.raises(WorkbenchError, match="cannot be given a role"):
            membership_grant(actor=cast.admin, user=user, collection=cast.alpha, role="analyst")


def test_an_unknown_role_is_refused(cast: Cast) -> None:
    with pytest.raises(WorkbenchError, match="Choose one of the roles"):
        membership_grant(actor=cast.admin, user=cast.analyst, collection=cast.alpha, role="owner")


def test_a_revoked_role_is_gone_and_on_record(cast: Cast) -> None:
    membership_revoke(
        actor=cast.admin, user=cast.analyst, collection=cast.alpha, role="analyst", reason="left the team"
    )
    assert not has_permission(cast.analyst, cast.alpha, Permission.VIEW)
    event = last_event()
    assert (event.action, event.reason) == ("membership.revoked", "left the team")
    assert (event.before, event.after) == ({"role": "analyst"}, None)


def test_a_role_that_is_not_held_cannot_be_revoked(cast: Cast) -> None:
    with pytest.raises(Conflict, match="does not hold this role"):
        membership_revoke(actor=cast.admin, user=cast.analyst, collection=cast.alpha, role="reviewer")


def test_a_collection_keeps_an_admin(cast: Cast) -> None:
    with pytest.raises(Conflict, match="at least one admin"):
        membership_revoke(actor=cast.admin, user=cast.admin, collection=cast.alpha, role="admin")


@pytest.mark.django_db(transaction=True)
def test_two_admins_cannot_remove_each_other_at_once(cast: Cast) -> None:
    membership_grant(actor=cast.admin, user=cast.analyst, collection=cast.alpha, role="admin")
    both_ready = threading.Barrier(2, timeout=120)

    def remove(actor: User, user: User) -> str:
        try:
            both_ready.wait()
            membership_revoke(actor=actor, user=user, collection=cast.alpha, role="admin")
        except (Conflict, NotAllowed):
            return "refused"
        finally:
            connections.close_all()
        return "done"

    with ThreadPoolExecutor(2) as pool:
        tries = [
            pool.submit(remove, cast.admin, cast.analyst),
            pool.submit(remove, cast.analyst, cast.admin),
        ]
        outcomes = sorted(future.result(20) for future in tries)
    assert outcomes == ["done", "refused"]
    assert Membership.objects.filter(collection=cast.alpha, role="admin").count() == 1


def test_an_invitation_makes_an_account_and_sends_a_link(
    cast: Cast, django_capture_on_commit_callbacks: object
) -> None:
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        membership = user_invite(
            actor=cast.admin,
            collection=cast.alpha,
            email=" New.Person@Example.org ",
            name="New Person",
            role="reviewer",
            build_url=build_url,
        )
    user = membership.user
    assert (user.email, user.name, user.has_usable_password()) == (
        "new.person@example.org",
        "New Person",
        False,
    )
    assert has_permission(user, cast.alpha, Permission.REVIEW)
    (message,) = mail.outbox
    assert message.to == ["new.person@example.org"]
    assert "https://workbench.example/accounts/password/reset/key/" in message.body
    actions = list(AuditEvent.objects.order_by("pk").values_list("action", flat=True))
    assert actions == ["account.created", "membership.granted", "account.invited"]


def test_an_invited_member_of_another_collection_keeps_the_account(
    cast: Cast, django_capture_on_commit_callbacks: object
) -> None:
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        membership = user_invite(
            actor=cast.admin,
            collection=cast.alpha,
            email=cast.outsider.email.upper(),
            name="Another name",
            role="analyst",
            build_url=build_url,
        )
    assert (membership.user, membership.user.name) == (cast.outsider, "Outsider")
    assert mail.outbox == []


def test_a_refused_invitation_leaves_no_account(cast: Cast) -> None:
    for email, role in (("no address", "analyst"), ("new@example.org", "owner")):
        with pytest.raises(WorkbenchError):
            user_invite(actor=cast.admin, collection=cast.alpha, email=email, role=role, build_url=build_url)
    assert not User.objects.filter(email="new@example.org").exists()
    assert not AuditEvent.objects.exists()


def test_who_has_a_password_is_not_invited_again(cast: Cast) -> None:
    with pytest.raises(Conflict, match="has a password already"):
        invitation_send(actor=cast.admin, user=cast.analyst, collection=cast.alpha, build_url=build_url)


def test_whose_account_is_switched_off_is_not_invited_again(cast: Cast) -> None:
    user = invite(cast, "gone@example.org").user
    user.is_active = False
    user.save()
    with pytest.raises(Conflict, match="is switched off"):
        invitation_send(actor=cast.admin, user=user, collection=cast.alpha, build_url=build_url)


def invite(cast: Cast, email: str, actor: User | None = None) -> Membership:
    return user_invite(
        actor=actor or cast.admin, collection=cast.alpha, email=email, role="analyst", build_url=build_url
    )


def test_one_person_sends_so_many_invitations_an_hour(cast: Cast) -> None:
    for number in range(MOST_INVITATIONS_BY):
        invite(cast, f"new-{number}@example.org")
    with pytest.raises(TooManyInvitations, match="30 invitations within an hour"):
        invite(cast, "one-more@example.org")
    assert not User.objects.filter(email="one-more@example.org").exists()
    assert AuditEvent.objects.filter(action="account.invited").count() == MOST_INVITATIONS_BY
    # Others do, and roles are given without a message.
    invite(cast, "one-more@example.org", actor=User.objects.system())
    membership_grant(actor=cast.admin, user=cast.staff, collection=cast.alpha, role="analyst")


def test_one_person_gets_so_many_invitations_a_day(cast: Cast) -> None:
    user = invite(cast, "new@example.org").user
    others = [cast.admin, User.objects.system()]
    for actor in others:
        invitation_send(actor=actor, user=user, collection=cast.alpha, build_url=build_url)
    for actor in others:
        with pytest.raises(TooManyInvitations, match="invited 3 times today"):
            invitation_send(actor=actor, user=user, collection=cast.alpha, build_url=build_url)
    assert AuditEvent.objects.filter(action="account.invited").count() == MOST_INVITATIONS_TO


def test_who_was_told_often_enough_gets_the_role_all_the_same(cast: Cast) -> None:
    user = invite(cast, "new@example.org").user
    for role in ("reviewer", "annotator", "auditor"):
        user_invite(actor=cast.admin, collection=cast.alpha, email=user.email, role=role, build_url=build_url)
    assert user.memberships.count() == 4
    assert AuditEvent.objects.filter(action="account.invited").count() == MOST_INVITATIONS_TO


def test_both_doors_say_that_it_was_too_often(cast: Cast, client_as: Callable[[User | None], Client]) -> None:
    user = invite(cast, "new@example.org").user
    client = client_as(cast.admin)
    for _ in range(MOST_INVITATIONS_TO):
        page = client.post(f"/collections/alpha/people/{user.pk}/invite/", follow=True)
    assert "was invited 3 times today. Try again tomorrow." in page.content.decode()
    answer = client.post(f"/api/v1/collections/alpha/people/{user.pk}/invite/")
    assert (answer.status_code, answer.json()["code"]) == (409, "too_many_invitations")


def test_accounts_are_made_by_administrators_of_the_installation(cast: Cast) -> None:
    user = user_create(actor=cast.staff, email="Ada@Example.org", password="a-long-enough-secret")
    assert (user.email, user.name, user.check_password("a-long-enough-secret")) == (
        "ada@example.org",
        "ada",
        True,
    )
    event = last_event()
    assert (event.action, event.collection_id) == ("account.created", None)
    assert "secret" not in str(event.after)
    with pytest.raises(NotAllowed):
        user_create(actor=cast.admin, email="eve@example.org")
    with pytest.raises(Conflict, match="has this e-mail address"):
        user_create(actor=cast.staff, email="ada@example.org")
