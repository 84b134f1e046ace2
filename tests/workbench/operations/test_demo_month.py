"""The month of the demo, acted out once: the trail verifies, every chart has figures, and no page opens empty."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from tests.workbench.addresses import ALL, path_of
from tests.workbench.scene import Scene
from workbench.accounts.models import MemberRole, Membership, User
from workbench.accounts.selectors import system_user
from workbench.audit.actions import Action
from workbench.audit.models import AuditEvent
from workbench.audit.services import audit_seal_all, audit_verify
from workbench.checklists.models import Round
from workbench.documents.intake import Waiting, documents_await
from workbench.documents.models import Document
from workbench.operations.demo.month import ACTS, DAYS, month_act
from workbench.operations.demo.scene import CLAIMS, DEMO
from workbench.operations.demo.services import demo_create
from workbench.operations.progress import progress_of
from workbench.operations.trust import trust_of
from workbench.rerankers.drift import drift_for
from workbench.rerankers.models import GateDecision, Outcome
from workbench.review.models import Adjudication, Review, Signature
from workbench.runs.models import Comparison, LLMCall, Run
from workbench.synonyms.models import DictionaryEntry

#: What a page says when it has nothing to show.
EMPTY = ('class="empty"', '<p class="muted">None.</p>')
#: Pages of what is rightly empty: a search before it is made, what a person was not corrected in, the desk of
#: somebody who did all of it, the models of a label that no training has read yet, endpoints where the operator has
#: set none.
MAY_BE_EMPTY = frozenset(
    {
        "search:search",
        "labeling:corrected",
        "labeling:work",
        "models:label",
        "ops:endpoints",
        "review:claims",
        "review:notifications",
    }
)

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def month(settings, tmp_path: Path) -> Scene:
    """The demo with its month; claims has most of it."""
    settings.WORKBENCH_HOME = tmp_path
    default = dict(settings.STORAGES["default"])
    default["OPTIONS"] = {**default["OPTIONS"], "location": str(tmp_path / "files")}
    settings.STORAGES = {**settings.STORAGES, "default": default}
    settings.DEMO_STRICT, settings.SEED_MODEL = True, True
    demo = demo_create(actor=system_user())
    documents_await(document_ids=demo.document_ids, waiting=Waiting(patience=0.0))
    assert month_act() == len(ACTS)
    claims = Document.objects.filter(collection__slug=CLAIMS)
    return Scene(
        document=claims.get(name="claims-handling-manual.md"),
        run=Run.objects.filter(
            collection__slug=CLAIMS,
            not_found=False,
            queue_items__state="waiting",
            reviews__label__isnull=False,
        ).latest("pk"),
        comparison=Comparison.objects.latest("pk"),
        round=Round.objects.latest("pk"),
        entry=DictionaryEntry.objects.filter(collection__slug=CLAIMS).latest("pk"),
    )


def test_a_month_of_work_is_there_and_no_page_is_empty(month: Scene) -> None:
    audit_seal_all()
    assert audit_verify().ok
    acted = AuditEvent.objects.filter(action=Action.DEMO_ACTED)
    assert {event.object_id for event in acted} == {act.name for act in ACTS}
    assert month_act() == 0, "each act is done once"
    _figures(month)
    _pages(month)


def _figures(month: Scene) -> None:
    """Every chart has something to show, over several weeks."""
    first = timezone.now().date() - timedelta(days=DAYS)
    assert Review.objects.order_by("created_at").first().created_at.date() >= first
    system = system_user()
    weeks = drift_for(user=system).by_week
    assert len(weeks) >= 4
    assert weeks[-1].figure.rate > weeks[0].figure.rate, "the verdicts drift"
    progress = progress_of(collection=month.document.collection)
    assert {row.reviewer for row in progress.reviewers} >= {"Rui Tavares", "Ingrid Solberg"}
    assert progress.second
    assert max(day.waiting for day in progress.queue) > 0
    assert (
        len(trust_of(collection=Run.objects.filter(collection__slug=DEMO)[0].collection).misses.to_week) >= 4
    )
    assert LLMCall.objects.filter(cost__gt=0).dates("created_at", "day").count() >= 4
    assert set(GateDecision.objects.values_list("outcome", flat=True)) == {Outcome.KEPT, Outcome.DEPLOYED}
    assert Signature.objects.count() == 1
    assert Adjudication.objects.count() == 1


def _pages(month: Scene) -> None:
    """As the demo's admin with every role, by the URL map."""
    admin = User.objects.get(email="admin@demo.example")
    for role in MemberRole:
        Membership.objects.get_or_create(user=admin, collection=month.document.collection, role=role)
    client, empty, seen = Client(), [], 0
    client.force_login(admin)
    for address in ALL:
        if address.name.startswith(("api:", "healthz", "readyz")) or address.name in MAY_BE_EMPTY:
            continue
        answer = client.get(path_of(address, month))
        if answer.status_code != 200 or answer.streaming or "text/html" not in answer["Content-Type"]:
            continue
        seen += 1
        page = answer.content.decode()
        if any(sign in page for sign in EMPTY):
            empty.append(f"{address.name} {path_of(address, month)}")
    assert empty == []
    assert seen >= 45
