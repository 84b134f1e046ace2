"""Which roles a person has where, read once a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.utils.functional import SimpleLazyObject

from .models import Membership

if TYPE_CHECKING:
    from .models import User

_REMEMBERED = "_roles_of_this_request"


def remembers_roles(user: object) -> bool:
    """Whether this is the user of a request of somebody signed in: a lazy object, made anew for each request."""
    return isinstance(user, SimpleLazyObject)


def roles_by_collection(*, user: User) -> Mapping[int, frozenset[str]]:
    """The roles of a person in each of their collections.

    Page, navigation and notices of one request all ask: its user remembers the answer, any other user does not.
    """
    known: Mapping[int, frozenset[str]] | None = getattr(user, _REMEMBERED, None)
    if known is not None:
        return known
    found: dict[int, frozenset[str]] = {}
    for collection, role in Membership.objects.filter(user=user).values_list("collection_id", "role"):
        found[collection] = found.get(collection, frozenset()) | {role}
    if remembers_roles(user):
        setattr(user, _REMEMBERED, found)
    return found


def roles_forget(*, user: User) -> None:
    """Roles were given or taken: what the rest of this request shows follows from the new ones."""
    if remembers_roles(user):
        setattr(user, _REMEMBERED, None)
