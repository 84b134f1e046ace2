"""Words that every record uses: moments, roles, decisions, places."""

from __future__ import annotations

from datetime import UTC, datetime

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from workbench.review.models import Review
from workbench.runs.models import Candidate, RoleChoice
from workbench.runs.places import lines_range
from workbench.runs.records import anchor_of

from .blocks import Row


def moment(at: datetime) -> str:
    """A moment as records write it: in the one form of dates, UTC, to the second."""
    at = at.astimezone(UTC)
    return f"{date_format(at, 'DATETIME_FORMAT')}:{at:%S} UTC"


def role_word(role: str | None) -> str:
    """A role as a heading has it."""
    return str(RoleChoice(role).label).capitalize() if role else _("Undecided")


def place_words(row: Candidate) -> str:
    """Document, page and lines."""
    return f"{row.document.name}, {lines_range(anchor_of(row))}"


def decision_words(review: Review) -> str:
    """Who decided what, when and why."""
    return f"{review.reviewer}, {moment(review.created_at)}: {said_words(review)}"


def said_words(review: Review) -> str:
    """What a person decided, and why."""
    parts = [
        str(review.get_action_display()),
        role_word(review.role) if review.role else "",
        str(review.get_reason_code_display()) if review.reason_code else "",
        f"“{review.comment}”" if review.comment else "",
        _("without sight of the machine's role") if review.blind else "",
    ]
    return ", ".join(part for part in parts if part)


def signature_row(key: str) -> Row:
    """What a record says of its export's signature."""
    label = _("Key that signs this export")
    if key:
        return Row(label=label, value=key, is_code=True)
    return Row(label=label, value=_("none: this export is not signed"))
