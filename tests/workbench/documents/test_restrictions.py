"""Restricting a document: who may, what goes on record, what a question searches, what follows it about.

Which addresses keep it from whom is asked of each in tests/workbench/authorisation/test_restricted.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.db import transaction
from django.test import Client
from django.utils import timezone

from tests.workbench.cast import Cast
from tests.workbench.review.signed import signed
from tests.workbench.scene import make_document, make_run
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.documents.models import Document, OfferState
from workbench.documents.restricting import restriction_set
from workbench.documents.restrictions import Restriction
from workbench.documents.services import document_upload
from workbench.documents.versions import version_accept, version_decline, version_offer
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.exports.links import LinkClosed, link_make, link_open, link_state
from workbench.exports.models import Export
from workbench.exports.services import export_make, period_export
from workbench.review.comments import comment_add
from workbench.review.notifications import unread
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import Run
from workbench.runs.services import question_ask

pytestmark = pytest.mark.usefixtures("here")
OTHER = {"1 Leave": ["Staff get thirty days of leave.", "Access records say when they came."]}


@pytest.fixture
def document(cast: Cast) -> Document:
    return make_document(collection=cast.alpha, owner=cast.analyst)


def restrict(cast: Cast, document: Document, *readers: int) -> Document:
    return restriction_set(actor=cast.admin, document=document, readers=readers, reason="An investigation.")


def test_only_admins_restrict_and_the_trail_says_to_whom(cast: Cast, document: Document) -> None:
    for person in (cast.analyst, cast.reviewer, cast.auditor, cast.outsider):
        with pytest.raises(NotAllowed):
            restriction_set(actor=person, document=document, readers=[], reason="Mine.")
    with pytest.raises(WorkbenchError, match="members of this collection"):
        restrict(cast, document, cast.outsider.pk)
    with pytest.raises(WorkbenchError, match="Say why"):
        restriction_set(actor=cast.admin, document=document, readers=[], reason=" ")
    assert not Restriction.objects.exists()

    restrict(cast, document, cast.reviewer.pk)
    restrict(cast, document, cast.reviewer.pk)  # nothing new
    restriction_set(actor=cast.admin, document=document, readers=None, reason="It is over.")
    told = AuditEvent.objects.filter(
        object_type="document", action__in=["document.restricted", "document.opened"]
    )
    assert [(event.before, event.after, event.reason) for event in told.order_by("pk")] == [
        ({"readers": None}, {"readers": [cast.reviewer.pk]}, "An investigation."),
        ({"readers": [cast.reviewer.pk]}, {"readers": None}, "It is over."),
    ]


def test_the_page_restricts_and_says_so(cast: Cast, document: Document, client_as) -> None:
    admin: Client = client_as(cast.admin)
    address = f"/documents/{document.pk}/"
    given = {"is_restricted": "on", "readers": [cast.reviewer.pk], "reason": "An investigation."}
    assert admin.post(f"{address}restrict/", {**given, "reason": ""}).status_code == 422
    assert admin.post(f"{address}restrict/", given).status_code == 302
    page = admin.get(f"{address}restrict/").content.decode()
    shown = page[page.index('id="id_restriction_is_restricted"') - 200 : page.index("id_restriction_reason")]
    assert shown.count(" checked") == 2
    assert f'value="{cast.reviewer.pk}"' in shown
    assert cast.admin.email not in shown, "admins see it anyway"
    assert "Restricted: only some people" in client_as(cast.reviewer).get(address).content.decode()
    listed = client_as(cast.analyst).get(cast.alpha.get_absolute_url()).content.decode()
    assert document.name not in listed
    api = f"/api/v1/documents/{document.pk}/"
    shown = client_as(cast.reviewer).get(api).json()
    assert shown["is_restricted"] is True
    assert [one["id"] for one in admin.get(f"{api}restriction/").json()["readers"]] == [cast.reviewer.pk]
    assert "An investigation." in client_as(cast.admin).get("/audit/").content.decode()
    assert "An investigation." not in client_as(cast.auditor).get("/audit/").content.decode()
    given = {"is_restricted": False, "reason": "It is over."}
    opened = admin.post(f"{api}restriction/", given, content_type="application/json")
    assert opened.json() == {"is_restricted": False, "readers": []}


def test_a_question_searches_what_its_asker_may_see(cast: Cast, document: Document) -> None:
    make_document(collection=cast.alpha, owner=cast.analyst, name="leave.txt", text=OTHER)
    everything = _asked(cast, cast.analyst)
    assert document.pk in _documents(everything)
    restrict(cast, document)
    with pytest.raises(WorkbenchError, match="not in the collection"):
        question_ask(
            actor=cast.analyst, collection=cast.alpha, document=document, text="How long?", strategy="offline"
        )
    asked = _asked(cast, cast.analyst)
    assert asked.pk != everything.pk, "no earlier answer about what they may not see"
    assert document.pk not in _documents(asked)
    assert asked.parsed_question["restricted_documents"] == 1
    assert _asked(cast, cast.reviewer).pk == asked.pk, "who sees the same gets the same answer"
    assert _asked(cast, cast.admin).pk == everything.pk
    assert set(Run.objects.visible_to(cast.analyst)) == {asked}
    assert set(Run.objects.visible_to(cast.admin)) == {asked, everything}


def _asked(cast: Cast, asker: User) -> Run:
    run = question_ask(
        actor=asker, collection=cast.alpha, text="How long are access records kept?", strategy="offline"
    ).run
    for stage in (run_detect, run_arbitrate, run_answer):
        stage(run_id=run.pk)
    return Run.objects.get(pk=run.pk)


def _documents(run: Run) -> set[int]:
    return set(run.candidates.values_list("document", flat=True))


def test_the_same_bytes_and_the_next_version_stay_restricted(cast: Cast, document: Document) -> None:
    restrict(cast, document, cast.reviewer.pk)
    content = document.file.open("rb").read()
    Document.objects.filter(pk=document.pk).update(sha256=hashlib.sha256(content).hexdigest())
    with pytest.raises(Conflict, match="may not see"):
        document_upload(actor=cast.analyst, collection=cast.alpha, file=ContentFile(content), name="mine.txt")

    later = make_document(collection=cast.alpha, owner=cast.analyst, text=OTHER)
    with transaction.atomic():
        version_offer(document_id=later.pk)
    version_accept(actor=cast.admin, document=later)
    assert set(later.restriction.readers.all()) == {cast.reviewer}
    assert not Document.objects.visible_to(cast.analyst).exists()
    assert Document.objects.visible_to(cast.reviewer).count() == 2


@pytest.mark.parametrize("hidden", ["older", "newest"])
def test_nobody_replaces_what_they_may_not_see(
    cast: Cast, document: Document, hidden: str, client_as: Callable[[User], Client]
) -> None:
    """A document of the same name is offered as its next version, but only who sees it decides that."""
    own = make_document(collection=cast.alpha, owner=cast.analyst, text=OTHER)
    with transaction.atomic():
        version_offer(document_id=own.pk)
    secret = document
    if hidden == "newest":
        secret = make_document(collection=cast.alpha, owner=cast.analyst, name="next.txt", text=OTHER)
        Document.objects.filter(pk=secret.pk).update(version_of=document, version_number=2)
    restrict(cast, secret)
    analyst, api = client_as(cast.analyst), f"/api/v1/documents/{own.pk}/"
    assert analyst.get(f"{api}versions/").json()["offer"] is None
    assert client_as(cast.admin).get(f"{api}versions/").json()["offer"]["older"] == document.pk
    for page in (own.get_absolute_url(), f"/documents/{own.pk}/versions/", "/collections/alpha/"):
        assert "This may be a new version of" not in analyst.get(page).text, page
        assert "This may be a new version of" in client_as(cast.admin).get(page).text, page
    for decision, act in (("accepted", version_accept), ("declined", version_decline)):
        with pytest.raises(Conflict, match="not offered"):
            act(actor=cast.analyst, document=own)
        sent = analyst.post(
            f"{api}version-decision/", {"decision": decision}, content_type="application/json"
        )
        assert sent.status_code == 409
    for decision in ("accept", "decline"):
        told = analyst.post(f"/documents/{own.pk}/versions/decide/", {"decision": decision}, follow=True)
        assert "not offered" in told.text
    own.refresh_from_db()
    assert (own.version_of, own.version_offer.state) == (None, OfferState.OPEN)
    assert not AuditEvent.objects.filter(action="document.restricted", object_id=str(own.pk)).exists()
    version_accept(actor=cast.admin, document=own)
    assert own.version_of == (document if hidden == "older" else secret)


def test_what_was_sent_out_is_closed_with_it(cast: Cast, document: Document) -> None:
    run = make_run(asker=cast.analyst, document=document)
    comment_add(actor=cast.analyst, run=run, body="Look, @Reviewer.")
    assert unread(user=cast.reviewer).count() == 1
    signed(run)
    link, token = link_make(actor=cast.reviewer, run=run, reason="For the auditor.", days=3)
    export_make(export_id=link.export_id)
    assert link_open(token=token, address="1.2.3.4")
    day = timezone.now()
    period = {"since": day - timedelta(days=1), "until": day + timedelta(days=1), "collection": cast.alpha}
    whole = period_export(actor=cast.auditor, **period)
    assert set(Export.objects.visible_to(cast.auditor).listed()) == {whole}

    restrict(cast, document, cast.analyst.pk)
    assert unread(user=cast.reviewer).count() == 0
    with pytest.raises(LinkClosed):
        link_open(token=token, address="1.2.3.4")
    link.export.refresh_from_db()
    assert link_state(link) == "restricted"
    assert not Export.objects.visible_to(cast.auditor).exists()
    with pytest.raises(NotAllowed, match="covers the whole collection"):
        period_export(actor=cast.auditor, **period)
    restrict(cast, document, cast.auditor.pk, cast.reviewer.pk)
    assert link_open(token=token, address="1.2.3.4")
    assert whole in Export.objects.visible_to(cast.auditor)
