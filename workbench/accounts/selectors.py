"""Who belongs to a collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Prefetch, QuerySet
from django.shortcuts import get_object_or_404

from .models import MemberRole, Membership, User

if TYPE_CHECKING:
    from .protocols import Collection

#: Where a person's memberships in the collection that was asked for stand.
_ROLES_HERE = "memberships_here"


@dataclass(frozen=True, slots=True)
class RoleName:
    """A role, and the word that people read."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Person:
    """A member of a collection, with the roles held there and the others; ``is_waiting``: see
    :attr:`User.is_waiting`."""

    user: User
    roles: list[RoleName]
    missing_roles: list[RoleName]
    is_waiting: bool


def system_user() -> User:
    """Whom commands act as."""
    return User.objects.system()


def people_of(*, collection: Collection) -> list[Person]:
    """The members of a collection by name. One query."""
    rows = Membership.objects.filter(collection=collection).select_related("user")
    roles: dict[User, list[str]] = {}
    for membership in rows.order_by("user__name", "user__email", "user_id"):
        roles.setdefault(membership.user, []).append(membership.role)
    return [
        Person(
            user=user,
            roles=[RoleName(role.value, role.label) for role in MemberRole if role in held],
            missing_roles=[RoleName(role.value, role.label) for role in MemberRole if role not in held],
            is_waiting=user.is_waiting,
        )
        for user, held in roles.items()
    ]


def members_of(*, collection: Collection) -> QuerySet[User]:
    """The members as rows that can be read page by page, each with the roles held there (:func:`roles_here`)."""
    members = Membership.objects.filter(collection=collection).values("user_id")
    return _with_roles(User.objects.filter(pk__in=members), collection)


def person_now(*, user: User, collection: Collection) -> User:
    """Somebody with the roles held in the collection now; with none after the last one was taken."""
    return _with_roles(User.objects.filter(pk=user.pk), collection).get()


def roles_here(user: User) -> list[str]:
    """The roles that came with somebody from :func:`members_of` or :func:`person_now`, in the order of the product."""
    held = {membership.role for membership in getattr(user, _ROLES_HERE)}
    return [role.value for role in MemberRole if role in held]


def _with_roles(users: QuerySet[User], collection: Collection) -> QuerySet[User]:
    here = Membership.objects.filter(collection=collection)
    return users.prefetch_related(Prefetch("memberships", queryset=here, to_attr=_ROLES_HERE))


def member_for(*, collection: Collection, pk: int) -> User:
    """A member of the collection; else 404, as if there were no such person."""
    return get_object_or_404(User.objects.filter(memberships__collection=collection).distinct(), pk=pk)
