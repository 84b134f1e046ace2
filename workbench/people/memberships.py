"""Roles of many people at once, as a directory gives and takes them: as many queries for one as for thousands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from django.db import connection, transaction

from workbench.accounts.models import MemberRole, Membership, User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record_many
from workbench.documents.models import Collection

#: A role of somebody: the keys of the person and of the collection, and the role.
HeldRole = tuple[int, int, str]

# Gives back what was not there: somebody else may give the same role at the same moment, and then has it on record.
_GRANT = """
    INSERT INTO accounts_membership (user_id, collection_id, role, created_at)
    SELECT given.*, now() FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS given
    ON CONFLICT DO NOTHING RETURNING user_id, collection_id, role
"""


def roles_held(*, users: Iterable[int]) -> set[HeldRole]:
    """The roles of the people with these keys."""
    return set(Membership.objects.filter(user__in=users).values_list("user_id", "collection_id", "role"))


def memberships_grant(*, roles: Iterable[HeldRole]) -> set[HeldRole]:
    """Gives roles as the system, to people who may hold one. Returns those that were not held already."""
    wanted = sorted(roles)
    if not wanted:
        return set()
    users, collections, names = (list(column) for column in zip(*wanted, strict=True))
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_GRANT, [users, collections, names])
            granted = sorted(cursor.fetchall())
        _record(
            Action.MEMBERSHIP_GRANTED,
            [
                {"object_id": user, "collection_id": collection, "after": {"role": role}}
                for user, collection, role in granted
            ],
        )
    return set(granted)


def memberships_revoke(*, roles: Iterable[HeldRole], reason: str) -> set[HeldRole]:
    """Takes roles away as the system. Returns those that stay, because a collection keeps its last admin."""
    wanted = set(roles)
    if not wanted:
        return set()
    with transaction.atomic():
        # In this order, as :func:`~workbench.people.services.membership_revoke` locks one: whoever takes roles waits.
        locked = Collection.objects.select_for_update(no_key=True).filter(pk__in={one[1] for one in wanted})
        list(locked.order_by("pk").values_list("pk"))
        kept = _last_admins(wanted)
        found = Membership.objects.filter(
            user__in={one[0] for one in wanted}, collection__in={one[1] for one in wanted}
        ).values_list("pk", "user_id", "collection_id", "role")
        ended = {(user, collection, role): key for key, user, collection, role in found}
        taken = sorted(ended.keys() & (wanted - kept))
        Membership.objects.filter(pk__in=[ended[one] for one in taken]).delete()
        _record(
            Action.MEMBERSHIP_REVOKED,
            [
                {"object_id": user, "collection_id": collection, "before": {"role": role}, "reason": reason}
                for user, collection, role in taken
            ],
        )
    return kept


def _last_admins(roles: set[HeldRole]) -> set[HeldRole]:
    """Those of the roles that must stay, so that each collection has an admin who is active."""
    ending = sorted(one for one in roles if one[2] == MemberRole.ADMIN)
    admins: dict[int, set[int]] = defaultdict(set)
    rows = Membership.objects.filter(
        collection__in={one[1] for one in ending}, role=MemberRole.ADMIN, user__is_active=True
    )
    for collection, user in rows.values_list("collection_id", "user_id"):
        admins[collection].add(user)
    kept = set()
    for one in ending:
        user, collection, _role = one
        if admins[collection] <= {user}:
            kept.add(one)
        else:
            admins[collection] -= {user}
    return kept


def _record(action: Action, events: list[dict[str, object]]) -> None:
    audit_record_many(
        actor=User.objects.system(),
        action=action,
        events=[{"object_type": "user", **event} for event in events],
    )
