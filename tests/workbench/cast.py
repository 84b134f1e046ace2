"""The fixed cast of users: a member of each role, a member of another collection, and nobody.

``alpha`` is the collection that tests work in; ``beta`` is the other one, with an outsider of each role. A
test of a page or an action asks each of them: the roles that may, the roles that may not, the outsiders,
the stranger.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.accounts.models import MemberRole, Membership, User
from workbench.documents.models import Collection

PASSWORD = "correct-horse-battery-staple"

#: Name in the cast to role in alpha.
_MEMBERS = {
    "analyst": MemberRole.ANALYST,
    "reviewer": MemberRole.REVIEWER,
    "second_reviewer": MemberRole.REVIEWER,
    "annotator": MemberRole.ANNOTATOR,
    "admin": MemberRole.ADMIN,
    "auditor": MemberRole.AUDITOR,
}


@dataclass(frozen=True, slots=True)
class Cast:
    """Everybody a test may need; ``outsiders`` maps a role to its holder in beta."""

    alpha: Collection
    beta: Collection
    analyst: User
    reviewer: User
    second_reviewer: User
    annotator: User
    admin: User
    auditor: User
    outsiders: dict[str, User]
    #: Administers the installation and is a member of no collection.
    staff: User

    @property
    def members(self) -> dict[str, User]:
        """Name in the cast to member of alpha, for parametrised tests."""
        return {name: getattr(self, name) for name in _MEMBERS}

    @property
    def outsider(self) -> User:
        """One member of beta that holds every role there: may do anything, but not here."""
        return self.outsiders["every"]


def create_cast() -> Cast:
    """Makes both collections and their people; everybody's password is ``PASSWORD``."""
    alpha = Collection.objects.create(slug="alpha", name="Alpha")
    beta = Collection.objects.create(slug="beta", name="Beta")
    members = {name: _member(name, alpha, role) for name, role in _MEMBERS.items()}
    outsiders = {str(role): _member(f"outside_{role}", beta, role) for role in MemberRole}
    outsiders["every"] = _member("outsider", beta, *MemberRole)
    staff = User.objects.create_user("staff@example.org", PASSWORD, name="Staff", is_staff=True)
    return Cast(alpha=alpha, beta=beta, outsiders=outsiders, staff=staff, **members)


def _member(name: str, collection: Collection, *roles: str) -> User:
    title = name.replace("_", " ").title()
    user = User.objects.create_user(f"{name.replace('_', '-')}@example.org", PASSWORD, name=title)
    Membership.objects.bulk_create(Membership(user=user, collection=collection, role=role) for role in roles)
    return user
