"""The tour of a first login: seven pages, each with a link to what it speaks of. Ended or skipped, it is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models.functions import Now
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, permissions_anywhere


@dataclass(frozen=True, slots=True)
class Step:
    """One step. ``page`` is the name of the address it leads to, for those who hold the permission."""

    title: Promise
    text: Promise
    page: str
    label: Promise
    needs: Permission | None = None


STEPS = (
    Step(
        _("Your work"),
        _(
            "Home counts what waits for you. Each figure leads to its list. Start next opens the most urgent card."
        ),
        "home",
        _("Home"),
    ),
    Step(
        _("Documents"),
        _(
            "A collection holds documents and the people who may read them. Drop files on it. Each file shows its "
            "progress until it is ready or says why it failed."
        ),
        "documents:collections",
        _("Collections"),
    ),
    Step(
        _("Questions"),
        _(
            "Ask in your own words and choose what to search. The workbench finds every passage that may matter and "
            "judges each one."
        ),
        "questions:ask",
        _("Ask"),
        Permission.ASK,
    ),
    Step(
        _("Answers you can defend"),
        _(
            "The answer comes first, with its sources. Every passage follows by its role, with the "
            "reason. Open the evidence to see the exact lines on the page."
        ),
        "questions:runs",
        _("Runs"),
    ),
    Step(
        _("Decisions"),
        _(
            "Approve what is right and override what is not. Keys do it too: a approves, 1 to 4 give a "
            "role, u says that you cannot tell. The machine's verdict stays on record beside yours."
        ),
        "review:queue",
        _("Queue"),
        Permission.REVIEW,
    ),
    Step(
        _("Signature and record"),
        _(
            "Sign a run when nothing waits. Your name, the time and its meaning are bound to the record. Every "
            "change is in the audit trail, which nobody can edit."
        ),
        "exports:exports",
        _("Exports"),
    ),
    Step(
        _("Trust and help"),
        _(
            "Trust shows how often the machine is right and whether people check it. Press ? on any page to read "
            "what it is for and which keys work there."
        ),
        "ops:trust",
        _("Trust"),
        Permission.REVIEW,
    ),
)


def tour_is_due(*, user: User) -> bool:
    """Whether the person has neither ended nor skipped it."""
    return user.tour_ended_at is None


def tour_end(*, user: User) -> None:
    """Over, whether it was read to the end or skipped: a preference, no event of the trail."""
    User.objects.filter(pk=user.pk, tour_ended_at__isnull=True).update(tour_ended_at=Now())


def tour_page(*, user: User, number: int) -> dict[str, Any] | None:
    """A step (from 1) with the ways to the others; None where there is no such step."""
    if not 1 <= number <= len(STEPS):
        return None
    step = STEPS[number - 1]
    may = permissions_anywhere(user=user)
    return {
        "step": step,
        "number": number,
        "total": len(STEPS),
        "steps": [{"number": place, "title": one.title} for place, one in enumerate(STEPS, 1)],
        "page_url": reverse(step.page) if step.needs is None or step.needs in may else "",
        "back_url": reverse("ops:tour", args=[number - 1]) if number > 1 else "",
        "next_url": reverse("ops:tour", args=[number + 1]) if number < len(STEPS) else "",
    }
