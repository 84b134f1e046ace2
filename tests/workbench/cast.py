"""The fixed cast of users: a member of each role, a member of another collection, and nobody.

``alpha`` is the collection that tests work in; ``beta`` is the other one, with an outsider of each role. A
test of a page or an action asks each of them: the roles that may, the roles that may not, the outsiders,
the stranger.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.contrib.auth.hashers import make_password

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
    """Makes both collections and their people; everybody's password is ``PASSWORD``. Nearly every test begins with it:
    a statement for each table, and the password is hashed once."""
    alpha, beta = Collection.objects.bulk_create(
        [Collection(slug="alpha", name="Alpha"), Collection(slug="beta", name="Beta")]
    )
    places = {name: (alpha, [role]) for name, role in _MEMBERS.items()}
    places |= {f"outside_{role}": (beta, [role]) for role in MemberRole}
    places["outsider"] = (beta, list(MemberRole))
    hashed = _hashed(PASSWORD, tuple(settings.PASSWORD_HASHERS))
    people = {name: _person(name, hashed) for name in places}
    staff = User(email="staff@example.org", password=hashed, name="Staff", is_staff=True)
    User.objects.bulk_create([*people.values(), staff])
    Membership.objects.bulk_create(
        Membership(user=people[name], collection=collection, role=role)
        for name, (collection, roles) in places.items()
        for role in roles
    )
    outsiders = {str(role): people[f"outside_{role}"] for role in MemberRole} | {"every": people["outsider"]}
    members = {name: people[name] for name in _MEMBERS}
    return Cast(alpha=alpha, beta=beta, outsiders=outsiders, staff=staff, **members)


@cache
def _hashed(password: str, hashers: tuple[str, ...]) -> str:
    return make_password(password)


def _person(name: str, password: str) -> User:
    email = f"{name.replace('_', '-')}@example.org"
    return User(email=email, password=password, name=name.replace("_", " ").title())
