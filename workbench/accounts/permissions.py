"""Which role may do what in a collection. Pages, API, search, exports and tasks all ask here."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Self, TypeVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext as _

from workbench.errors import NotAllowed

from .memberships import remembers_roles, roles_by_collection
from .models import MemberRole, Membership

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from .models import User
    from .protocols import Collection


Row = TypeVar("Row", bound=models.Model)


class Permission(StrEnum):
    """An act in a collection."""

    VIEW = "view"
    UPLOAD = "upload"
    ASK = "ask"
    REVIEW = "review"
    LABEL = "label"
    MANAGE = "manage"
    AUDIT = "audit"


ROLE_PERMISSIONS: dict[str, frozenset[Permission]] = {
    MemberRole.ANALYST: frozenset({Permission.VIEW, Permission.UPLOAD, Permission.ASK}),
    MemberRole.REVIEWER: frozenset({Permission.VIEW, Permission.ASK, Permission.REVIEW}),
    MemberRole.ANNOTATOR: frozenset({Permission.VIEW, Permission.LABEL}),
    MemberRole.ADMIN: frozenset(
        {Permission.VIEW, Permission.UPLOAD, Permission.ASK, Permission.MANAGE, Permission.AUDIT}
    ),
    MemberRole.AUDITOR: frozenset({Permission.VIEW, Permission.AUDIT}),
}


def roles_with(permission: Permission) -> list[str]:
    """The roles that carry a permission."""
    return [role for role, granted in ROLE_PERMISSIONS.items() if permission in granted]


def token_allows(user: User | AnonymousUser, permission: Permission) -> bool:
    """Whether the API token that the user came with covers the permission; always without a token."""
    scopes = getattr(user, "token_scopes", None)
    return scopes is None or permission in scopes


def token_acts(user: User | AnonymousUser) -> bool:
    """Whether the API token that the user came with covers anything but reading; always without a token. What is of
    no collection, such as one's own preferences, is not changed by a program that may only look."""
    scopes = getattr(user, "token_scopes", None)
    return scopes is None or bool(set(scopes) - {Permission.VIEW, Permission.AUDIT})


def administers(user: User | AnonymousUser) -> bool:
    """Whether the user administers the installation, in person: no token carries that."""
    return bool(
        user.is_authenticated
        and user.is_active
        and getattr(user, "is_staff", False)
        and getattr(user, "token_scopes", None) is None
    )


def require_administrator(actor: User) -> None:
    """Raises :class:`NotAllowed` for anybody but the system and an administrator of the installation, in person."""
    if not (actor.is_system or administers(actor)):
        raise NotAllowed(_("Only an administrator of the installation does this."))


def member_condition(
    user: User | AnonymousUser, permission: Permission = Permission.VIEW, *, prefix: str = ""
) -> Q:
    """The filter that keeps rows of collections where the user holds the permission.

    ``prefix`` is the lookup path from the filtered model to its collection, such as
    ``"document__collection"``; empty for collections themselves. The ``system`` user of commands and
    workers passes everywhere. For the user of a request the keys stand in the filter, as its roles are known: what a
    request changes asks :func:`has_permission`, which reads them anew.
    """
    if not user.is_authenticated or not user.is_active or not token_allows(user, permission):
        return Q(pk__in=[])
    if getattr(user, "is_system", False):
        return Q()
    path = f"{prefix}__in" if prefix else "pk__in"
    if remembers_roles(user):
        return Q(**{path: collections_with(user=user, permission=permission)})
    allowed = Membership.objects.filter(user=user, role__in=roles_with(permission))
    return Q(**{path: allowed.values("collection_id")})


def collections_with(*, user: User, permission: Permission) -> list[int] | None:
    """Keys of the collections where the user holds the permission; None for everywhere, as the ``system`` user does.

    The same as ``member_condition`` says in a subquery. With keys the database knows how much stands in each
    collection, and reads the first of a hundred thousand rows from an index instead of sorting them all.
    """
    return collections_of_member(user=user, permission=permission) if token_allows(user, permission) else []


def collections_of_member(*, user: User, permission: Permission) -> list[int] | None:
    """The same by the person's roles alone, whatever the token covers that they came with: for what must be kept
    from a person, not for what they may do."""
    if not user.is_authenticated or not user.is_active:
        return []
    if user.is_system:
        return None
    allowed = set(roles_with(permission))
    return sorted(key for key, roles in roles_by_collection(user=user).items() if roles & allowed)


class OfCollectionQuerySet(models.QuerySet[Row]):
    """Rows with a ``collection``, filtered by what a user may do."""

    def visible_to(self, user: User, permission: Permission = Permission.VIEW) -> Self:
        """Those in collections where the user holds the permission."""
        return self.filter(member_condition(user, permission, prefix="collection"))


def member_condition_any(user: User | AnonymousUser, permissions: Iterable[Permission]) -> Q:
    """The filter that keeps collections where the user holds at least one of the permissions; a collection may come
    more than once."""
    condition = Q(pk__in=[])
    for permission in permissions:
        condition |= member_condition(user, permission)
    return condition


def has_permission(user: User | AnonymousUser, collection: Collection, permission: Permission) -> bool:
    """Whether the user may do this in the collection now; asked anew each time, as roles may just have been taken."""
    return has_any_permission(user, collection, permission)


def has_any_permission(user: User | AnonymousUser, collection: Collection, *permissions: Permission) -> bool:
    """Whether the user may do at least one of these in the collection now, as in :func:`has_permission`."""
    held = [permission for permission in permissions if token_allows(user, permission)]
    if not user.is_authenticated or not user.is_active or not held:
        return False
    if getattr(user, "is_system", False):
        return True
    roles = {role for permission in held for role in roles_with(permission)}
    return Membership.objects.filter(user=user, collection=collection, role__in=sorted(roles)).exists()


def permissions_in(user: User, collection: Collection) -> frozenset[Permission]:
    """Everything the user may do in the collection, for what a page offers; see :func:`has_permission` for acts."""
    if user.is_system:
        return frozenset(Permission)
    roles = roles_by_collection(user=user).get(collection.pk, frozenset())
    granted: frozenset[Permission] = frozenset().union(*(ROLE_PERMISSIONS[role] for role in roles))
    return frozenset(permission for permission in granted if token_allows(user, permission))


def permissions_anywhere(*, user: User) -> frozenset[Permission]:
    """What the user may do in at least one collection."""
    roles = frozenset().union(*roles_by_collection(user=user).values())
    granted: frozenset[Permission] = frozenset().union(*(ROLE_PERMISSIONS[role] for role in roles))
    return frozenset(permission for permission in granted if token_allows(user, permission))
