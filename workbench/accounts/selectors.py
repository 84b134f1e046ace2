"""Who belongs to a collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.shortcuts import get_object_or_404

from .models import MemberRole, Membership, User

if TYPE_CHECKING:
    from workbench.documents.models import Collection


@dataclass(frozen=True, slots=True)
class RoleName:
    """A role, and the word that people read."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Person:
    """A member of a collection, with the roles held there and the others; ``is_waiting`` until a password is
    set."""

    user: User
    roles: list[RoleName]
    missing_roles: list[RoleName]
    is_waiting: bool


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
            is_waiting=not user.has_usable_password(),
        )
        for user, held in roles.items()
    ]


def member_for(*, collection: Collection, pk: int) -> User:
    """A member of the collection; else 404, as if there were no such person."""
    return get_object_or_404(User.objects.filter(memberships__collection=collection).distinct(), pk=pk)
