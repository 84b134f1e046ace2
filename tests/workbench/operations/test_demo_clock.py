"""The clock of the demo's month: rows have its moment, the trail the real time and says so."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now
from django.utils import timezone

from tests.workbench.cast import Cast
from tests.workbench.scene import Scene, make_run
from workbench.audit.models import AuditEvent
from workbench.audit.services import audit_seal_all, audit_verify
from workbench.infra.leases import lease_claim
from workbench.operations.demo.clock import DemoClock
from workbench.operations.demo.grader import graded
from workbench.review.queue import queue_claim
from workbench.review.services import candidate_approve
from workbench.runs.models import Run


def test_what_services_write_stands_in_the_past_and_the_trail_does_not(cast: Cast, scene: Scene) -> None:
    real, moment = timezone.now(), timezone.now() - timedelta(days=20)
    with DemoClock().running() as clock:
        clock.set(moment)
        run = make_run(asker=cast.analyst, document=scene.document, text="Who may see the access records?")
        item = run.queue_items.filter(candidate__verdict__role__isnull=False).first()
        queue_claim(actor=cast.reviewer, item=item)
        clock.forward(45)
        review = candidate_approve(actor=cast.reviewer, candidate=item.candidate)
        assert lease_claim(Run.objects.filter(pk=run.pk), owner="a worker")
    item.refresh_from_db()
    review.refresh_from_db()
    run.refresh_from_db()
    near = timedelta(minutes=2)
    decided = (review.created_at, item.decided_at)
    for found in (run.created_at, run.finished_at, item.created_at, *decided):
        assert abs(found - moment) < near
    assert abs(item.entered - moment.timestamp()) < near.total_seconds()
    assert 45 <= review.seconds_on_card < 90
    assert run.lease_until > real, "other workers look at leases"
    events = AuditEvent.objects.filter(request_id="demo")
    approved = events.get(action="verdict.approved")
    assert abs(approved.created_at - real) < near
    assert approved.after["demo_moment"][:10] == moment.date().isoformat()
    audit_seal_all()
    assert audit_verify().ok


def test_afterwards_the_clock_is_the_real_one(cast: Cast, scene: Scene) -> None:
    before = timezone.now
    with DemoClock().running() as clock:
        clock.set(timezone.now() - timedelta(days=3))
        assert timezone.now is not before
    assert timezone.now is before
    Run.objects.filter(pk=scene.run.pk).update(finished_at=Now())
    scene.run.refresh_from_db()
    assert abs(scene.run.finished_at - timezone.now()) < timedelta(minutes=2)
    late = make_run(asker=cast.analyst, document=scene.document, text="Who signs the register?")
    assert abs(late.created_at - timezone.now()) < timedelta(minutes=2)
    assert "demo_moment" not in (AuditEvent.objects.latest("pk").after or {})


def test_the_stand_in_grades_by_shared_words() -> None:
    block = "<<<DATA {0} 0123456789ab>>>\n{1}\n<<<END 0123456789ab>>>"
    prompt = "\n".join(
        (
            block.format("question", "When must a theft be reported?"),
            block.format("id0", "A theft must be reported within a day."),
            block.format("id1", "Wear and rust are not covered."),
        )
    )
    assert graded(prompt) == '{"id0":8}'
