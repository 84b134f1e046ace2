"""The month of the demo: four weeks of two collections and five people, acted out by the product's own services.

Each act is done once: an event of the trail (``demo.acted``) says so, and a month that was broken off goes on with the
act that was missing. What the acts do is in :mod:`.review_acts` and :mod:`.other_acts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta

import structlog
from celery import current_app
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from workbench.accounts.selectors import system_user
from workbench.audit.actions import Action
from workbench.audit.models import AuditEvent
from workbench.audit.services import audit_record
from workbench.documents.intake import Waiting, documents_await
from workbench.infra.model_endpoints import ModelEndpoint

from . import other_acts, review_acts
from .clock import DemoClock
from .grader import MODEL, grader_serving
from .process import LAST_ACT, month_alone
from .scene import Scene
from .services import demo_create

logger = structlog.get_logger(__name__)

DAYS = 30


@dataclass(frozen=True, slots=True)
class Act:
    """Something that happens ``day`` days into the month, at an hour."""

    day: int
    hour: int
    name: str
    do: Callable[[Scene], None]


ACTS: Sequence[Act] = (
    Act(1, 8, "second collection", other_acts.second_collection),
    Act(1, 9, "settings", other_acts.settings_made),
    *(Act(2 + 7 * week, 9, f"questions {week + 1}", review_acts.questions_of(week)) for week in range(4)),
    *(Act(3 + 7 * week, 10, f"decisions {week + 1}", review_acts.decisions_of(week)) for week in range(4)),
    *(
        Act(4 + 7 * week + part, 14, f"model {2 * week + part + 1}", review_acts.model_asked(week, part))
        for week in range(4)
        for part in range(2)
    ),
    *(Act(6 + 7 * week, 11, f"checklist {week + 1}", other_acts.checklist_of(week)) for week in range(3)),
    Act(12, 15, "missed passage", review_acts.missed_passage),
    Act(14, 10, "dispute", review_acts.dispute),
    Act(15, 10, "labelling", other_acts.labelling),
    Act(17, 9, "gold from another office", other_acts.gold_of_another_office),
    Act(18, 9, "first training", other_acts.training),
    Act(19, 9, "words and views", other_acts.words_and_views),
    Act(20, 9, "strategies measured", other_acts.strategies_measured),
    Act(22, 16, "signature", review_acts.signature),
    Act(24, 16, "labels from another office", other_acts.labels_of_another_office),
    Act(25, 9, "second training", other_acts.training),
    Act(26, 9, "connections", other_acts.connections),
    Act(28, 15, "taken out", other_acts.taken_out),
    Act(29, 16, LAST_ACT, review_acts.left_open),
)


def month_act() -> int:
    """Acts out what the month still lacks; the number of acts. For a process that does nothing else meanwhile."""
    actor = system_user()
    demo = demo_create(actor=actor)
    documents_await(document_ids=demo.document_ids, waiting=Waiting())
    done = set(AuditEvent.objects.filter(action=Action.DEMO_ACTED).values_list("object_id", flat=True))
    missing = [act for act in sorted(ACTS, key=lambda act: (act.day, act.hour)) if act.name not in done]
    if not missing:
        return 0
    begin = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(days=DAYS)
    with month_alone() as is_alone, _stage() as scene:
        for act in missing if is_alone else ():
            moment = begin.replace(hour=act.hour) + timedelta(days=act.day)
            scene.clock.set(min(moment, begin + timedelta(days=DAYS, minutes=-5)))
            _perform(act, scene)
    return len(missing)


@contextmanager
def _stage() -> Iterator[Scene]:
    """Where the month is acted: its clock runs, tasks are done here and now, and a stand-in grades."""
    app = current_app._get_current_object()
    was_eager, endpoints = app.conf.task_always_eager, settings.MODEL_ENDPOINTS
    with ExitStack() as stack:
        clock = stack.enter_context(DemoClock().running())
        address = stack.enter_context(grader_serving())
        app.conf.task_always_eager = True
        settings.MODEL_ENDPOINTS = (
            *endpoints,
            ModelEndpoint("demo-grader", address, (MODEL,), is_local=False),
        )
        try:
            yield Scene(clock=clock, grader=address)
        finally:
            app.conf.task_always_eager, settings.MODEL_ENDPOINTS = was_eager, endpoints


def _perform(act: Act, scene: Scene) -> None:
    """An act that fails is told and left out: the demo is worth having without it."""
    try:
        act.do(scene)
    except Exception:
        logger.exception("demo.act_failed", act=act.name)
        if settings.DEMO_STRICT:
            raise
    with transaction.atomic():
        audit_record(
            actor=system_user(),
            action=Action.DEMO_ACTED,
            object_type="demo",
            object_id=act.name,
            reason="A day of the demo, made up: what it shows did not happen.",
        )
