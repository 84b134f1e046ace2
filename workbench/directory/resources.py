"""Accounts and groups as SCIM has them (RFC 7643), and what a client asks to be done with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from scim2_models import (
    AuthenticationScheme,
    Bulk,
    ChangePassword,
    Email,
    ETag,
    Filter,
    Group,
    GroupMember,
    GroupMembership,
    InvalidValueException,
    Meta,
    Name,
    Patch,
    Resource,
    ScimFilter,
    ScimPolicy,
    ServiceProviderConfig,
    Sort,
    User,
)

from workbench.accounts.models import User as Account
from workbench.infra.addresses import number_in

from .accounts import account_change, account_provision, account_withdraw, accounts_seen
from .groups import group_change, group_create, group_remove, groups_living
from .models import DirectoryGroup, DirectoryPerson, GroupSource

#: As providers of identities really send things: attributes of their own, a value beside ``remove``, a filter in a path
#: that matches nothing yet.
POLICY = ScimPolicy(
    unknown=ScimPolicy.Unknown.ignore,
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
)
MOST_RESULTS = 200
CONFIGURATION = ServiceProviderConfig(
    patch=Patch(supported=True),
    bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
    filter=Filter(supported=True, max_results=MOST_RESULTS),
    change_password=ChangePassword(supported=False),
    sort=Sort(supported=False),
    etag=ETag(supported=False),
    authentication_schemes=[
        AuthenticationScheme(
            type="oauthbearertoken",
            name="Bearer token",
            description="A token of manage.py directory_token.",
        )
    ],
)


class Kind(Protocol):
    """What both kinds of resources can do."""

    path: str
    model: type[Resource[Any]]

    def rows(self) -> QuerySet[Any]:
        """All of them."""

    def narrowed(self, attribute: str, value: str) -> QuerySet[Any] | None:
        """Those with a value, asked of the database; None where it cannot be."""

    def shown(self, row: Any, base: str) -> Any:
        """As a client sees it."""

    def make(self, resource: Any) -> Any:
        """Makes one."""

    def change(self, row: Any, resource: Any) -> None:
        """Makes it what the resource says."""

    def withdraw(self, row: Any) -> None:
        """Ends it."""


class People:
    """Accounts. ``userName`` is kept as it was sent; the address is the primary one of ``emails``, else the name."""

    path, model = "Users", User

    def rows(self) -> QuerySet[Account]:
        """All of them, with their groups."""
        return accounts_seen().prefetch_related("directory_groups")

    def narrowed(self, attribute: str, value: str) -> QuerySet[Account] | None:
        """By name, by the key of the directory, by address."""
        rows = self.rows()
        match attribute.lower():
            case "username":
                named = DirectoryPerson.objects.filter(user_name__iexact=value).values("user")
                others = rows.filter(directory__isnull=True, email__iexact=value)
                return rows.filter(pk__in=named) | others
            case "externalid":
                return rows.filter(directory__external_id=value)
            case "emails" | "emails.value":
                return rows.filter(email__iexact=value)
        return None

    def shown(self, row: Account, base: str) -> User:
        """As a client sees it."""
        known: DirectoryPerson | None = getattr(row, "directory", None)
        groups = [group for group in row.directory_groups.all() if group.source == GroupSource.SCIM]
        return User(
            id=str(row.pk),
            external_id=(known.external_id or None) if known else None,
            user_name=known.user_name if known else row.email,
            display_name=row.name,
            name=_parts_of(row.name),
            emails=[Email(value=row.email, type="work", primary=True)],
            active=row.is_active,
            groups=[
                GroupMembership(value=str(group.pk), display=group.name, ref=f"{base}Groups/{group.pk}")
                for group in groups
                if group.removed_at is None
            ]
            or None,
            meta=Meta(
                resource_type="User",
                created=row.date_joined,
                last_modified=known.changed_at if known else row.date_joined,
                location=f"{base}Users/{row.pk}",
            ),
        )

    def make(self, resource: User) -> Account:
        """A new account."""
        return account_provision(**_told(resource))

    def change(self, row: Account, resource: User) -> None:
        """Makes it what the resource says."""
        account_change(user=row, **_told(resource, now=row))

    def withdraw(self, row: Account) -> None:
        """Switches it off."""
        account_withdraw(user=row)


class Groups:
    """Groups of the directory."""

    path, model = "Groups", Group

    def rows(self) -> QuerySet[DirectoryGroup]:
        """All of them, with their members."""
        return groups_living(source=GroupSource.SCIM).prefetch_related("members")

    def narrowed(self, attribute: str, value: str) -> QuerySet[DirectoryGroup] | None:
        """By name, or by the key of the directory."""
        match attribute.lower():
            case "displayname":
                return self.rows().filter(name__iexact=value)
            case "externalid":
                return self.rows().filter(external_id=value)
        return None

    def shown(self, row: DirectoryGroup, base: str) -> Group:
        """As a client sees it."""
        return Group(
            id=str(row.pk),
            external_id=row.external_id or None,
            display_name=row.name,
            members=[
                GroupMember(value=str(user.pk), display=user.name, ref=f"{base}Users/{user.pk}", type="User")
                for user in row.members.all()
            ]
            or None,
            meta=Meta(
                resource_type="Group",
                created=row.created_at,
                last_modified=row.changed_at,
                location=f"{base}Groups/{row.pk}",
            ),
        )

    def make(self, resource: Group) -> DirectoryGroup:
        """A new group."""
        return group_create(**_told_of_group(resource))

    def change(self, row: DirectoryGroup, resource: Group) -> None:
        """Makes it what the resource says."""
        group_change(group=row, **_told_of_group(resource))

    def withdraw(self, row: DirectoryGroup) -> None:
        """Nobody belongs to it any more."""
        group_remove(group=row)


def matching(kind: Kind, filter_: str | None) -> QuerySet[Any] | Sequence[Any]:
    """The rows that a filter keeps. One attribute equal to one value is asked of the database; whatever else the
    grammar allows is compared row by row. Raises SCIM's ``invalidFilter``."""
    if not filter_:
        return kind.rows()
    parsed = ScimFilter[kind.model](filter_)  # type: ignore[name-defined]
    node = parsed.ast
    is_equal = getattr(getattr(node, "op", None), "value", "") == "eq" and isinstance(node.value, str)
    if is_equal:
        attribute = ".".join(part for part in (node.attr_path.attr, node.attr_path.sub_attr) if part)
        rows = kind.narrowed(attribute, node.value)
        if rows is not None:
            return rows
    return [row for row in kind.rows() if parsed.match(kind.shown(row, ""))]


def _told(resource: User, now: Account | None = None) -> dict[str, Any]:
    """What a resource says of an account. What it leaves out stays."""
    user_name = (resource.user_name or "").strip()
    if not user_name:
        raise InvalidValueException(detail=_("Give a userName."))
    emails = [email for email in resource.emails or [] if email.value]
    primary = next((email for email in emails if email.primary), emails[0] if emails else None)
    address = str(primary.value) if primary else (now.email if now and "@" not in user_name else user_name)
    return {
        "user_name": user_name,
        "email": address,
        "name": _name_of(resource, now),
        "external_id": resource.external_id or "",
        "is_active": resource.active if resource.active is not None else now is None or now.is_active,
    }


def _parts_of(name: str) -> Name:
    """The one name that we keep, in parts: a client may change its given or its family name alone."""
    given, _space, family = name.rpartition(" ")
    return Name(formatted=name, given_name=given or family, family_name=family if given else None)


def _name_of(resource: User, now: Account | None) -> str:
    """What changed counts: clients send one of three forms, and we show all of them."""
    name = resource.name or Name()
    parts = " ".join(part for part in (name.given_name, name.family_name) if part)
    said = [text for text in (parts, name.formatted, resource.display_name) if text]
    former = now.name if now else ""
    return next((text for text in said if text != former), said[0] if said else former)


def _told_of_group(resource: Group) -> dict[str, Any]:
    """What a resource says of a group. Raises SCIM's ``invalidValue`` for a member that is no account."""
    wanted = {str(member.value) for member in resource.members or [] if member.value}
    keys = {number_in(value) for value in wanted}
    members = list(accounts_seen().filter(pk__in=[key for key in keys if key is not None]))
    if len(members) < len(wanted):
        raise InvalidValueException(detail=_("A member is not a user of this service."))
    return {
        "name": resource.display_name or "",
        "external_id": resource.external_id or "",
        "members": members,
    }
