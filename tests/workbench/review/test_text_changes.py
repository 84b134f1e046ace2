"""A new version of its document reaches a signed run: it stays signed, says so, waits, and its signer is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from django.db import transaction
from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.documents.test_versions import SECOND
from tests.workbench.review.signed import signed
from tests.workbench.scene import TEXT, make_document, make_run
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.documents.models import Document
from workbench.documents.versions import version_accept, version_offer
from workbench.exports.html import report_html
from workbench.exports.run_report import run_report
from workbench.review.candidates import candidates_of
from workbench.review.carry_over import anchors_carry_over
from workbench.review.models import CarriedState, ItemState, Notification, NotificationKind, TextChange
from workbench.review.notifications import mail_send, wish_set
from workbench.review.results import candidate_role
from workbench.review.run_tabs import record
from workbench.review.selectors import queue_open
from workbench.review.services import candidate_approve, candidate_override
from workbench.review.signing import run_reopen, signature_holds
from workbench.runs.models import Candidate, ReviewState, Run

pytestmark = pytest.mark.usefixtures("here")
ClientAs = Callable[[User | None], Client]
CHANGED, GONE = CarriedState.CHANGED, CarriedState.GONE


@pytest.fixture
def first(cast: Cast) -> Document:
    return make_document(collection=cast.alpha, owner=cast.analyst)


@pytest.fixture
def run(cast: Cast, first: Document) -> Run:
    """A signed run: of its evidence a person decided on one passage, the others stand as the machine gave them."""
    run = make_run(asker=cast.analyst, document=first)
    retention = run.candidates.get(section_title="2 Retention")
    if candidate_role(retention) != "primary":
        candidate_override(actor=cast.reviewer, candidate=retention, role="primary", reason_code="wrong_role")
    else:
        candidate_approve(actor=cast.reviewer, candidate=retention)
    signed(run, cast.reviewer)
    return Run.objects.get(pk=run.pk)


def next_version(cast: Cast, text: dict[str, list[str]], name: str = "policy_v2.txt") -> Document:
    """A new version, accepted by the analyst, with the decisions carried over."""
    document = make_document(collection=cast.alpha, owner=cast.analyst, name=name, text=text)
    with transaction.atomic():
        version_offer(document_id=document.pk)
    version_accept(actor=cast.analyst, document=document)
    anchors_carry_over(document_id=document.pk)
    return document


def evidence(run: Run) -> set[str]:
    return {row.section_title for row in candidates_of(run) if candidate_role(row) not in {None, "discarded"}}


def changes(run: Run) -> dict[str, str]:
    rows = TextChange.objects.filter(signature__run=run).select_related("candidate")
    return {row.candidate.section_title: row.state for row in rows}


def test_the_signature_stays_and_the_run_says_that_its_text_changed(cast: Cast, run: Run) -> None:
    assert evidence(run) >= {"2 Retention"}
    next_version(cast, SECOND)
    run = Run.objects.get(pk=run.pk)
    assert (run.review_state, run.text_changed_at is not None) == (ReviewState.SIGNED, True)
    assert run.review_words == "signed; text changed since"
    assert signature_holds(signature=run.signatures.get())
    assert changes(run)["2 Retention"] in {CHANGED, GONE}
    assert changes(run).keys() <= evidence(run), "what was discarded is nothing that the run rests on"
    (event,) = AuditEvent.objects.filter(action="run.text_changed")
    assert event.object_id == str(run.pk)
    assert event.after["signature"] == run.signatures.get().pk
    assert len(event.after["passages"]) == len(changes(run))


def test_evidence_that_only_the_machine_decided_counts_too(cast: Cast, first: Document) -> None:
    run = make_run(asker=cast.analyst, document=first)
    assert not run.reviews.exists()
    signed(run, cast.reviewer)
    next_version(cast, {**TEXT, "2 Retention": ["Records are shredded."], "3 Deletion": ["At any time."]})
    assert set(changes(run)) == evidence(run) & {"2 Retention", "3 Deletion"} != set()


def test_an_unchanged_text_changes_nothing(cast: Cast, run: Run) -> None:
    next_version(cast, {**TEXT, "4 Annex": ["Nothing of this concerns the records."]})
    run.refresh_from_db()
    assert (run.text_changed_at, run.review_words) == (None, "signed")
    assert not TextChange.objects.exists()
    assert not Notification.objects.filter(kind=NotificationKind.TEXT_CHANGED).exists()


def test_an_unsigned_run_is_not_marked(cast: Cast, first: Document) -> None:
    run = make_run(asker=cast.analyst, document=first)
    next_version(cast, SECOND)
    run.refresh_from_db()
    assert run.text_changed_at is None


def test_the_queue_holds_what_changed_until_the_run_is_reopened(
    cast: Cast, run: Run, client_as: ClientAs
) -> None:
    assert not queue_open(user=cast.reviewer).filter(run=run, is_required=True).exists()
    next_version(cast, SECOND)
    waiting = queue_open(user=cast.second_reviewer, required_only=True).filter(run=run)
    assert {item.candidate.section_title for item in waiting} == set(changes(run))
    assert all({"version_changed", "version_gone"} & set(item.why) for item in waiting)

    client = client_as(cast.second_reviewer)
    item = waiting[0]
    page = client.get(f"/queue/{item.pk}/").content.decode()
    assert "Signed; text changed since" in page
    assert client.post(f"/candidates/{item.candidate_id}/approve/").status_code == 409
    run_reopen(actor=cast.second_reviewer, run=run, reason="A new version.")
    candidate = Candidate.objects.get(pk=item.candidate_id)
    seen = candidate.reviews.last()
    candidate_approve(
        actor=cast.second_reviewer, candidate=candidate, seen_review_id=seen.pk if seen else None
    )
    item.refresh_from_db()
    assert item.state == ItemState.DECIDED


def test_a_reopened_run_begins_anew(cast: Cast, run: Run, client_as: ClientAs) -> None:
    next_version(cast, SECOND)
    run_reopen(actor=cast.reviewer, run=run, reason="A new version.")
    run.refresh_from_db()
    assert run.text_changed_at is None
    signed(run, cast.reviewer)
    page = client_as(cast.reviewer).get(f"/runs/{run.pk}/").content.decode()
    assert "text changed since" not in page
    assert changes(run), "what was found under the earlier signature stays on record"


def test_the_signer_is_told_once_a_version_and_by_mail_as_they_wish(
    cast: Cast, run: Run, client_as: ClientAs, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[dict[str, Any]] = []
    monkeypatch.setattr(
        "workbench.review.notifications.dispatch_on_commit", lambda task, **given: woken.append(given)
    )
    wish_set(user=cast.reviewer, email="each")
    document = next_version(cast, SECOND)
    told = Notification.objects.get(kind=NotificationKind.TEXT_CHANGED)
    assert (told.user, told.actor, told.run) == (cast.reviewer, cast.analyst, run)
    assert woken == [{"user_id": cast.reviewer.pk}]
    assert mail_send(user_id=cast.reviewer.pk)
    assert "changes the text of a run that you signed" in mail.outbox[0].body
    assert "thirty-six" not in mail.outbox[0].body
    page = client_as(cast.reviewer).get("/notifications/").content.decode()
    assert "accepted a new version that changes the text of a run that you signed" in page

    anchors_carry_over(document_id=document.pk)
    again = {**SECOND, "2 Scope": ["Visitors are covered as well."]}
    next_version(cast, again, name="policy_v3.txt")
    assert Notification.objects.filter(kind=NotificationKind.TEXT_CHANGED).count() == 1, "the same change"
    other = {**SECOND, "3 Retention": ["Access records are kept for forty-eight months."]}
    next_version(cast, other, name="policy_v4.txt")
    assert Notification.objects.filter(kind=NotificationKind.TEXT_CHANGED).count() == 2


def test_a_signer_who_accepted_the_version_is_told_too(cast: Cast, first: Document) -> None:
    run = make_run(asker=cast.analyst, document=first)
    signed(run, cast.analyst)
    next_version(cast, SECOND)
    assert Notification.objects.get(kind=NotificationKind.TEXT_CHANGED).user == cast.analyst


def test_work_that_was_broken_off_goes_on_and_two_workers_tell_once(
    cast: Cast, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = make_document(collection=cast.alpha, owner=cast.analyst, name="policy_v2.txt", text=SECOND)
    with transaction.atomic():
        version_offer(document_id=document.pk)
    version_accept(actor=cast.analyst, document=document)
    with monkeypatch.context() as patch:
        patch.setattr("workbench.review.text_changes.notify", lambda **_: 1 / 0)
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            anchors_carry_over(document_id=document.pk)
    assert not TextChange.objects.exists()
    anchors_carry_over(document_id=document.pk)
    found = changes(run)
    document.version_offer.__class__.objects.update(carried_at=None)
    anchors_carry_over(document_id=document.pk)
    assert changes(run) == found != {}
    assert Notification.objects.filter(kind=NotificationKind.TEXT_CHANGED).count() == 1


def test_a_signed_not_found_rests_on_the_whole_document(
    cast: Cast, first: Document, client_as: ClientAs
) -> None:
    run = make_run(asker=cast.analyst, document=first, text="Which zebra paints submarines?")
    Run.objects.filter(pk=run.pk).update(not_found=True)
    signed(run, cast.reviewer)
    next_version(cast, {**TEXT, "4 Zebras": ["The zebra Martha paints every submarine."]})
    rows = TextChange.objects.filter(signature__run=run, candidate__isnull=True)
    assert [row.state for row in rows] == [CHANGED]
    item = run.queue_items.get(candidate__isnull=True)
    assert (item.state, item.is_required, "version_changed" in item.why) == (ItemState.WAITING, True, True)
    page = client_as(cast.reviewer).get(f"/runs/{run.pk}/").content.decode()
    assert "Look again whether it answers the question." in page
    assert client_as(cast.reviewer).get(f"/queue/{item.pk}/").status_code == 200


def test_pages_api_record_and_export_say_it(cast: Cast, run: Run, client_as: ClientAs) -> None:
    document = next_version(cast, SECOND)
    client = client_as(cast.reviewer)
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "Signed; text changed since" in page
    assert f"/documents/{document.pk}/versions/" in page
    assert "changed in a new version since" in client.get(f"/runs/{run.pk}/sign/").content.decode()
    assert "Signed; text changed since" in client.get("/runs/").content.decode()

    told = client.get(f"/api/v1/runs/{run.pk}/").json()
    assert (told["review_state"], bool(told["text_changed_at"])) == ("signed", True)
    (signature,) = client.get(f"/api/v1/signatures/?run={run.pk}").json()["results"]
    assert {row["document"] for row in signature["text_changes"]} == {document.pk}
    assert {row["candidate"] for row in signature["text_changes"]} == set(
        TextChange.objects.values_list("candidate_id", flat=True)
    )

    run = Run.objects.get(pk=run.pk)
    (first_change, *_) = record(run)["text_changes"]
    assert first_change.keys() == {"candidate_id", "document_sha256", "version", "state", "at"}
    assert (first_change["document_sha256"], first_change["version"]) == (document.sha256, 2)
    said = report_html(run_report(run)).decode()
    assert "signed; text changed since" in said
    assert "Text changed since" in said
