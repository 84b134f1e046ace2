"""Groups, and the roles they stand for: the one mapping for SCIM, OpenID Connect and SAML."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from workbench.accounts.models import MemberRole, Membership, User
from workbench.accounts.permissions import administers
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.infra.storable import storable
from workbench.people.services import membership_grant, membership_revoke, require_manage

from .models import MAX_NAME, DirectoryGroup, GroupGrant, GroupRole, GroupSource

if TYPE_CHECKING:
    from workbench.documents.models import Collection

#: Groups of one sign-on that are read; a provider that sends more sends too many.
MOST_GROUPS = 500
#: Roles that the groups of a collection may stand for.
MOST_ROLES = 200


def groups_living(*, source: str) -> QuerySet[DirectoryGroup]:
    """The groups of a source that are not removed, oldest first."""
    return DirectoryGroup.objects.filter(source=source, removed_at__isnull=True).order_by("pk")


def group_create(*, name: str, external_id: str, members: Iterable[User]) -> DirectoryGroup:
    """A group of the directory. Raises :class:`Conflict` when there is one of this name."""
    try:
        with transaction.atomic():
            group = DirectoryGroup.objects.create(
                source=GroupSource.SCIM, name=_name(name), external_id=external_id[:MAX_NAME]
            )
            audit_record(actor=_system(), action=Action.GROUP_CREATED, obj=group, after={"name": group.name})
            _members_set(group, set(members))
    except IntegrityError as error:
        raise Conflict(_("There is a group of this name already."), code="uniqueness") from error
    return group


def group_change(*, group: DirectoryGroup, name: str, external_id: str, members: Iterable[User]) -> None:
    """Name and members as they are from now on; roles follow. Raises :class:`Conflict` for a name that is taken."""
    given = {"name": _name(name), "external_id": external_id[:MAX_NAME]}
    try:
        with transaction.atomic():
            locked = DirectoryGroup.objects.select_for_update().get(pk=group.pk)
            before = {"name": locked.name, "external_id": locked.external_id}
            if before != given:
                DirectoryGroup.objects.filter(pk=group.pk).update(**given, changed_at=Now())
                audit_record(
                    actor=_system(), action=Action.GROUP_CHANGED, obj=group, before=before, after=given
                )
            _members_set(group, set(members))
            if before["name"] != given["name"]:
                roles_sync(users=group.members.all())
    except IntegrityError as error:
        raise Conflict(_("There is a group of this name already."), code="uniqueness") from error


def group_remove(*, group: DirectoryGroup) -> None:
    """Nobody belongs to it any more; the row stays for the trail."""
    with transaction.atomic():
        _members_set(group, set())
        DirectoryGroup.objects.filter(pk=group.pk).update(removed_at=Now())
        audit_record(actor=_system(), action=Action.GROUP_REMOVED, obj=group, before={"name": group.name})


def groups_of_sign_on(*, user: User, names: Iterable[str]) -> None:
    """What the provider said at a sign-on: these are the person's groups, and no others of that source."""
    wanted = {_name(name) for name in list(names)[:MOST_GROUPS] if name.strip()}
    with transaction.atomic():
        held = {group.name: group for group in groups_living(source=GroupSource.SIGN_ON).filter(members=user)}
        for name in sorted(wanted - held.keys()):
            group, _is_new = DirectoryGroup.objects.get_or_create(
                source=GroupSource.SIGN_ON, name=name, removed_at=None
            )
            group.members.add(user)
            _member_record(group, user, Action.GROUP_MEMBER_ADDED)
        for name in sorted(held.keys() - wanted):
            held[name].members.remove(user)
            _member_record(held[name], user, Action.GROUP_MEMBER_REMOVED)
        roles_sync(users=[user])


def group_role_add(*, actor: User, collection: Collection, group: str, role: str) -> GroupRole:
    """From now on the group stands for the role; who belongs to it holds it at once.

    Raises :class:`NotAllowed` for who does not manage the collection, and for a group that the actor may not name;
    :class:`WorkbenchError` for an unknown role or no name, :class:`Conflict` for what stands already.
    """
    require_manage(actor, collection)
    name = _name(group)
    if role not in MemberRole.values:
        raise WorkbenchError(_("Choose one of the roles."), code="unknown_role")
    if not name:
        raise WorkbenchError(_("Name the group as your directory does."), code="name_missing")
    if not _may_name(actor, name):
        raise NotAllowed(
            _(
                "You can only give a role to a group that you belong to. "
                "An administrator of the installation can name any group."
            ),
            code="not_your_group",
        )
    rows = GroupRole.objects.filter(collection=collection)
    if rows.count() >= MOST_ROLES:
        raise Conflict(_("There are %(n)d groups already. Remove one first.") % {"n": MOST_ROLES})
    with transaction.atomic():
        row, is_new = GroupRole.objects.get_or_create(
            collection=collection, group=name, role=role, defaults={"created_by": actor}
        )
        if not is_new:
            raise Conflict(_("This group has this role already."))
        audit_record(
            actor=actor,
            action=Action.GROUP_ROLE_ADDED,
            obj=row,
            collection_id=collection.pk,
            after={"group": name, "role": role},
        )
        roles_sync(users=_members_of_name(name))
    return row


def _may_name(actor: User, name: str) -> bool:
    """Whether the actor may give a role to the group. A role shows who belongs to it, and anybody can make a collection
    to give one in: names of groups that are guessed must tell nothing, not even whether there is such a group."""
    if settings.GROUP_ROLES_OPEN or actor.is_system or administers(actor):
        return True
    return DirectoryGroup.objects.filter(name=name, removed_at__isnull=True, members=actor).exists()


def group_role_remove(*, actor: User, collection: Collection, pk: int) -> None:
    """The group stands for the role no longer; who held it through the group alone loses it."""
    require_manage(actor, collection)
    with transaction.atomic():
        row = get_object_or_404(GroupRole, collection=collection, pk=pk)
        audit_record(
            actor=actor,
            action=Action.GROUP_ROLE_REMOVED,
            obj=row,
            collection_id=collection.pk,
            before={"group": row.group, "role": row.role},
        )
        row.delete()
        roles_sync(users=_members_of_name(row.group))


def group_roles_of(*, collection: Collection) -> QuerySet[GroupRole]:
    """What groups stand for in a collection."""
    return GroupRole.objects.filter(collection=collection)


def roles_sync(*, users: Iterable[User]) -> None:
    """Gives and takes what follows from the groups of these people. A role given by hand stays. The last admin of a
    collection stays too, until there is another one."""
    for user in list(users):
        names = DirectoryGroup.objects.filter(members=user, removed_at__isnull=True).values("name")
        mapped = GroupRole.objects.filter(group__in=names).select_related("collection")
        wanted = {(row.collection, row.role) for row in mapped}
        grants = GroupGrant.objects.filter(user=user).select_related("collection")
        held = {(grant.collection, grant.role): grant for grant in grants}
        if user.is_active and not user.is_system:
            for collection, role in wanted:
                _give(user, collection, role, is_ours=(collection, role) in held)
        for (collection, role), grant in held.items():
            if (collection, role) not in wanted:
                _take(user, grant)


def _give(user: User, collection: Collection, role: str, *, is_ours: bool) -> None:
    if Membership.objects.filter(user=user, collection=collection, role=role).exists():
        return
    membership_grant(actor=_system(), user=user, collection=collection, role=role)
    if not is_ours:
        GroupGrant.objects.create(user=user, collection=collection, role=role)


def _take(user: User, grant: GroupGrant) -> None:
    if Membership.objects.filter(user=user, collection=grant.collection, role=grant.role).exists():
        try:
            membership_revoke(
                actor=_system(),
                user=user,
                collection=grant.collection,
                role=grant.role,
                reason="no group stands for it",
            )
        except Conflict:  # the last admin
            return
    grant.delete()


def _members_set(group: DirectoryGroup, wanted: set[User]) -> None:
    present = set(group.members.all())
    added, gone = wanted - present, present - wanted
    group.members.add(*added)
    group.members.remove(*gone)
    for user in sorted(added, key=lambda one: one.pk):
        _member_record(group, user, Action.GROUP_MEMBER_ADDED)
    for user in sorted(gone, key=lambda one: one.pk):
        _member_record(group, user, Action.GROUP_MEMBER_REMOVED)
    roles_sync(users=added | gone)


def _member_record(group: DirectoryGroup, user: User, action: Action) -> None:
    audit_record(
        actor=_system(), action=action, obj=user, after={"group": group.name, "source": group.source}
    )


def _members_of_name(name: str) -> QuerySet[User]:
    groups = DirectoryGroup.objects.filter(name=name, removed_at__isnull=True)
    return User.objects.filter(directory_groups__in=groups).distinct()


def _name(name: str) -> str:
    return " ".join(storable(name).split())[:MAX_NAME]


def _system() -> User:
    return User.objects.system()
