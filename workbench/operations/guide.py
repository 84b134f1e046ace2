"""The first steps of a person who has not asked anything yet: questions to try on the demo collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from workbench.accounts.permissions import Permission
from workbench.documents.models import Collection, Document
from workbench.runs.models import Run

from .demo.questions import DEMO_QUESTIONS, DemoQuestion
from .demo.services import DEMO_SLUG

if TYPE_CHECKING:
    from workbench.accounts.models import User


@dataclass(frozen=True, slots=True)
class FirstQuestion:
    """A question to try, what it shows, and the form with the question in it."""

    text: str
    shows: str
    url: str


def first_questions(*, user: User) -> list[FirstQuestion]:
    """Questions for a person who may ask the demo collection and has asked nothing anywhere; else none."""
    if Run.objects.filter(requested_by=user).exists():
        return []
    if not Collection.objects.visible_to(user, Permission.ASK).filter(slug=DEMO_SLUG).exists():
        return []
    offered = (DEMO_QUESTIONS[0], DEMO_QUESTIONS[2], DEMO_QUESTIONS[-1])
    documents = dict(
        Document.objects.filter(
            collection__slug=DEMO_SLUG, name__in=[question.document for question in offered]
        ).values_list("name", "pk")
    )
    return [_first_question(question, document=documents.get(question.document)) for question in offered]


def _first_question(question: DemoQuestion, *, document: int | None) -> FirstQuestion:
    fields = {"collection": DEMO_SLUG, "q": question.text}
    if document is not None:
        fields["document"] = str(document)
    return FirstQuestion(question.text, _(question.shows), f"{reverse('questions:ask')}?{urlencode(fields)}")
