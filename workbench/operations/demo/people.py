"""The demo's people."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.accounts.models import MemberRole


@dataclass(frozen=True, slots=True)
class DemoPerson:
    """One demo user; ``role`` is also the role in the demo collection."""

    email: str
    name: str
    role: MemberRole
    is_staff: bool = False


DEMO_PEOPLE = (
    DemoPerson("analyst@demo.example", "Amara Okafor", MemberRole.ANALYST),
    DemoPerson("reviewer@demo.example", "Rui Tavares", MemberRole.REVIEWER),
    # A second review is never by the person who gave the first.
    DemoPerson("reviewer2@demo.example", "Ingrid Solberg", MemberRole.REVIEWER),
    DemoPerson("annotator@demo.example", "Noor Haddad", MemberRole.ANNOTATOR),
    DemoPerson("admin@demo.example", "Tomás Vidal", MemberRole.ADMIN, is_staff=True),
    DemoPerson("auditor@demo.example", "Edith Marlowe", MemberRole.AUDITOR),
)
