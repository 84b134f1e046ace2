"""Versions of a document: offered, accepted or declined; decisions carried over or reopened; the newest is asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from arbitration.parsing.isolation import ParseLimits
from tests.workbench.cast import Cast
from tests.workbench.scene import TEXT, HashEmbedder, make_document, make_run
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.documents import ingest
from workbench.documents.embedding import active_space
from workbench.documents.erasure import document_delete, document_keep
from workbench.documents.models import Document, OfferState, VersionOffer
from workbench.documents.restricting import restriction_set
from workbench.documents.services import document_upload
from workbench.documents.store import DatabaseCandidateStore
from workbench.documents.versions import name_key, version_accept, version_decline, version_offer, versions_of
from workbench.errors import Conflict, NotAllowed
from workbench.review import carry_over, tasks
from workbench.review.carry_over import anchors_carry_over, carry_overs_to_wake
from workbench.review.models import CarriedAnchor, CarriedState, ItemState
from workbench.review.services import candidate_approve, candidate_override
from workbench.review.version_page import sections_of
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import Candidate, Run
from workbench.runs.services import question_ask

pytestmark = pytest.mark.usefixtures("here")
ClientAs = Callable[[User | None], Client]

#: Retention changed, payment records went, deletion stayed and moved down, a section came.
SECOND = {
    "1 Purpose": TEXT["1 Purpose"],
    "2 Scope": ["Contractors are covered as well."],
    "3 Retention": [
        "Access records are kept for thirty-six months.",
        "The period starts on the day of the access.",
    ],
    "4 Deletion": TEXT["3 Deletion"],
}


@pytest.fixture
def first(cast: Cast) -> Document:
    return make_document(collection=cast.alpha, owner=cast.analyst)


@pytest.fixture
def second(cast: Cast, first: Document) -> Document:
    document = make_document(collection=cast.alpha, owner=cast.analyst, text=SECOND)
    with transaction.atomic():
        version_offer(document_id=document.pk)
    return document


def decide(cast: Cast, run: Run) -> dict[str, Candidate]:
    """Every candidate of a run gets a person's word; by the title of its section."""
    for candidate in run.candidates.all():
        if candidate.verdict.role:
            candidate_approve(actor=cast.reviewer, candidate=candidate)
        else:
            candidate_override(
                actor=cast.reviewer, candidate=candidate, role="supporting", reason_code="wrong_role"
            )
    return {candidate.section_title: candidate for candidate in run.candidates.all()}


@pytest.fixture
def decided(cast: Cast, first: Document) -> dict[str, Candidate]:
    question = "How long are access records kept, and when does a legal hold stop the deletion?"
    return decide(cast, make_run(asker=cast.analyst, document=first, text=question))


# --- offering ---------------------------------------------------------------------------------------


def test_the_same_title_is_offered_as_a_version(first: Document, second: Document) -> None:
    offer = VersionOffer.objects.get()
    assert (offer.document, offer.older, offer.state) == (second, first, OfferState.OPEN)
    assert AuditEvent.objects.filter(action="version.offered", object_id=str(second.pk)).exists()


def test_another_title_and_name_are_not_offered_but_the_name_alone_suffices(
    cast: Cast, first: Document
) -> None:
    other = make_document(collection=cast.alpha, owner=cast.analyst, name="handbook.txt", text=SECOND)
    Document.objects.filter(pk=other.pk).update(title="Handbook")
    assert version_offer(document_id=other.pk) is None
    Document.objects.filter(pk=other.pk).update(name="Policy_v2.txt")
    assert version_offer(document_id=other.pk) is not None


def test_a_document_of_another_collection_is_never_offered(cast: Cast, first: Document) -> None:
    other = make_document(collection=cast.beta, owner=cast.outsider, text=SECOND)
    assert version_offer(document_id=other.pk) is None


@pytest.mark.parametrize(
    "name",
    [
        "DPA.pdf",
        "dpa_v2.docx",
        "DPA v2.1.pdf",
        "DPA_v202212.pdf",
        "DPA-2024-05-01.pdf",
        "DPA (1).pdf",
        "DPA_final.pdf",
    ],
)
def test_marks_of_a_version_do_not_tell_names_apart(name: str) -> None:
    assert name_key(name) == "dpa"


def test_names_of_other_things_stay_apart() -> None:
    assert (
        len({name_key(n) for n in ("Annex 1.pdf", "Annex 2.pdf", "2024.pdf", "2025.pdf", "Renewal.pdf")}) == 5
    )


def test_a_file_that_was_read_is_offered(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "current_embedder", HashEmbedder)
    for months in ("twelve", "eighteen"):
        content = f"# Records\n\nRecords are kept for {months} months.\n".encode()
        outcome = document_upload(
            actor=cast.analyst, collection=cast.alpha, file=ContentFile(content), name="records.md"
        )
        ingest.document_ingest(document_id=outcome.document.pk)
    older, newer = Document.objects.filter(collection=cast.alpha).order_by("pk")
    assert (older.status, newer.status) == ("ready", "ready")
    assert VersionOffer.objects.get().older == older


# --- deciding ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["reviewer", "annotator", "auditor", "outsider"])
def test_only_who_may_upload_decides(cast: Cast, second: Document, name: str) -> None:
    for act in (version_accept, version_decline):
        with pytest.raises(NotAllowed):
            act(actor=getattr(cast, name), document=second)
    assert VersionOffer.objects.get().state == OfferState.OPEN


def test_accepting_links_and_counts_and_is_on_record(cast: Cast, first: Document, second: Document) -> None:
    version_accept(actor=cast.analyst, document=second)
    assert (second.version_of, second.version_number) == (first, 2)
    event = AuditEvent.objects.get(action="version.accepted")
    assert (event.actor, event.after["older"]) == (cast.analyst, first.pk)
    with pytest.raises(Conflict):
        version_accept(actor=cast.analyst, document=second)


def test_a_declined_offer_links_nothing_and_may_still_be_accepted(cast: Cast, second: Document) -> None:
    version_decline(actor=cast.analyst, document=second)
    second.refresh_from_db()
    assert second.version_of is None
    with pytest.raises(Conflict):
        version_decline(actor=cast.analyst, document=second)
    assert version_offer(document_id=second.pk) is None
    version_accept(actor=cast.analyst, document=second)
    assert second.version_number == 2


def test_two_offers_for_one_document_make_a_chain(cast: Cast, first: Document, second: Document) -> None:
    third = make_document(collection=cast.alpha, owner=cast.analyst, text={"1 Purpose": ["Other words."]})
    VersionOffer.objects.create(document=third, older=first)
    version_accept(actor=cast.analyst, document=second)
    version_accept(actor=cast.analyst, document=third)
    assert (third.version_of, third.version_number) == (second, 3)
    assert versions_of(first) == versions_of(third) == [first, second, third]


def test_versions_make_no_circle(cast: Cast, first: Document, second: Document) -> None:
    VersionOffer.objects.create(document=first, older=second)
    version_accept(actor=cast.analyst, document=second)
    with pytest.raises(Conflict):
        version_accept(actor=cast.analyst, document=first)
    with pytest.raises(IntegrityError), transaction.atomic():
        Document.objects.filter(pk=first.pk).update(version_of=first)


# --- carrying over ----------------------------------------------------------------------------------


def test_unchanged_anchors_are_carried_and_changed_ones_wait_again(
    cast: Cast, decided: dict[str, Candidate], second: Document
) -> None:
    version_accept(actor=cast.analyst, document=second)
    assert anchors_carry_over(document_id=second.pk) == len(decided)
    kept = CarriedAnchor.objects.get(candidate=decided["3 Deletion"], document=second)
    assert (kept.state, kept.text_hash) == (CarriedState.CARRIED, kept.matched_hash)
    assert kept.review == decided["3 Deletion"].reviews.get()
    places = list(second.lines.filter(section_id="s4").values_list("line_num", flat=True))
    assert places[0] <= kept.line_start <= kept.line_end <= places[-1]
    assert decided["3 Deletion"].queue_item.state == ItemState.DECIDED

    changed = CarriedAnchor.objects.get(candidate=decided["2 Retention"], document=second)
    assert changed.state == CarriedState.CHANGED
    assert changed.text_hash != changed.matched_hash
    item = decided["2 Retention"].queue_item
    item.refresh_from_db()
    assert (item.state, item.is_required, item.claimed_by) == (ItemState.WAITING, True, None)
    assert "version_changed" in item.why
    assert AuditEvent.objects.filter(action="anchor.reopened").count() == 1


def test_an_anchor_that_is_gone_waits_again(
    cast: Cast, decided: dict[str, Candidate], first: Document
) -> None:
    bare = make_document(
        collection=cast.alpha, owner=cast.analyst, text={"1 Fees": ["Invoices go out monthly."]}
    )
    VersionOffer.objects.create(document=bare, older=first)
    version_accept(actor=cast.analyst, document=bare)
    anchors_carry_over(document_id=bare.pk)
    states = set(CarriedAnchor.objects.values_list("state", "page_start", "matched_hash"))
    assert states == {(CarriedState.GONE, None, "")}
    assert "version_gone" in decided["2 Retention"].queue_item.why


def test_nothing_is_carried_before_a_person_accepts(decided: dict[str, Candidate], second: Document) -> None:
    assert anchors_carry_over(document_id=second.pk) == 0
    assert not CarriedAnchor.objects.exists()


def test_a_broken_off_carry_over_goes_on_and_a_repeated_one_does_nothing(
    cast: Cast, decided: dict[str, Candidate], second: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    version_accept(actor=cast.analyst, document=second)
    take, taken = carry_over._take, []

    def dies_at_the_second(*args: object, **values: object) -> int:
        if taken:
            raise RuntimeError("the worker is gone")
        taken.append(take(*args, **values))  # type: ignore[arg-type]
        return 1

    with monkeypatch.context() as broken:
        broken.setattr(carry_over, "_take", dies_at_the_second)
        with pytest.raises(RuntimeError):
            anchors_carry_over(document_id=second.pk)
    assert CarriedAnchor.objects.count() == 1
    VersionOffer.objects.update(decided_at="2020-01-01T00:00:00Z")
    assert carry_overs_to_wake() == [second.pk]
    sent: list[tuple[str, int]] = []
    monkeypatch.setattr(
        tasks, "dispatch", lambda task, document_id: sent.append((task.name, document_id)) or True
    )
    assert (tasks.sweep(), sent) == (1, [("documents.carry_over", second.pk)])

    assert anchors_carry_over(document_id=second.pk) == len(decided) - 1
    assert carry_overs_to_wake() == []
    events = AuditEvent.objects.filter(action__startswith="anchor.").count()
    assert anchors_carry_over(document_id=second.pk) == 0
    assert AuditEvent.objects.filter(action__startswith="anchor.").count() == events == len(decided)


def test_a_decision_carried_once_is_carried_on(
    cast: Cast, decided: dict[str, Candidate], second: Document
) -> None:
    version_accept(actor=cast.analyst, document=second)
    anchors_carry_over(document_id=second.pk)
    third = make_document(
        collection=cast.alpha, owner=cast.analyst, text={"9 End": TEXT["3 Deletion"], "1 Purpose": ["Short."]}
    )
    VersionOffer.objects.create(document=third, older=second)
    version_accept(actor=cast.analyst, document=third)
    anchors_carry_over(document_id=third.pk)
    kept = CarriedAnchor.objects.get(document=third, candidate=decided["3 Deletion"])
    assert kept.review.candidate == decided["3 Deletion"]
    assert (kept.page_start, kept.line_start) <= (1, 3)


def test_a_reopened_card_is_decided_as_any_other(
    cast: Cast, decided: dict[str, Candidate], second: Document
) -> None:
    version_accept(actor=cast.analyst, document=second)
    anchors_carry_over(document_id=second.pk)
    candidate = decided["2 Retention"]
    before = candidate.reviews.get()
    candidate_approve(actor=cast.second_reviewer, candidate=candidate, seen_review_id=before.pk)
    assert before.superseded_by.reviewer == cast.second_reviewer
    assert candidate.queue_item.__class__.objects.get(candidate=candidate).state == ItemState.DECIDED


# --- asking -----------------------------------------------------------------------------------------


def ask_all(cast: Cast, text: str) -> Run:
    outcome = question_ask(actor=cast.analyst, collection=cast.alpha, text=text, strategy="offline")
    for stage in (run_detect, run_arbitrate, run_answer):
        stage(run_id=outcome.run.pk)
    return Run.objects.get(pk=outcome.run.pk)


def test_a_collection_is_asked_of_its_newest_versions(cast: Cast, first: Document, second: Document) -> None:
    question = "How long are access records kept?"
    both = ask_all(cast, question)
    assert set(both.candidates.values_list("document", flat=True)) == {first.pk, second.pk}
    version_accept(actor=cast.analyst, document=second)
    cast.alpha.refresh_from_db()
    newest = ask_all(cast, question)
    assert newest.pk != both.pk  # accepting changed what the answer is made from
    assert set(newest.candidates.values_list("document", flat=True)) == {second.pk}


def test_every_search_leaves_the_older_version_out(cast: Cast, first: Document, second: Document) -> None:
    version_accept(actor=cast.analyst, document=second)
    cast.alpha.refresh_from_db()
    store = DatabaseCandidateStore(collection=cast.alpha, space=active_space())
    vector = HashEmbedder().embed(["payment records ten years"])[0]
    found = [
        *store.lexical("payment records access"),
        *store.vector([vector]),
        *store.lines_with(["records"]),
        *store.title_hits(["retention"]),
    ]
    assert {row.document_id for row in found} == {second.public_id}
    assert store.count_hits(["payment"]) == {"payment": 0}
    assert store.substring_pages(["payment"]) == []


def test_an_older_version_is_asked_by_naming_it(cast: Cast, first: Document, second: Document) -> None:
    version_accept(actor=cast.analyst, document=second)
    run = make_run(asker=cast.analyst, document=first, text="How long are payment records kept?")
    assert not run.not_found
    assert set(run.candidates.values_list("document", flat=True)) == {first.pk}


# --- pages ------------------------------------------------------------------------------------------


def test_the_offer_stands_on_the_page_and_in_the_row_of_who_may_decide(
    cast: Cast, first: Document, second: Document, client_as: ClientAs
) -> None:
    for path in (f"/documents/{second.pk}/", f"/documents/{second.pk}/status/", "/collections/alpha/"):
        body = client_as(cast.analyst).get(path).content.decode()
        assert "This may be a new version of" in body, path
        assert f'action="/documents/{second.pk}/versions/decide/"' in body
        assert "versions/decide" not in client_as(cast.reviewer).get(path).content.decode()


def test_accepting_and_declining_on_the_page(cast: Cast, second: Document, client_as: ClientAs) -> None:
    client, path = client_as(cast.analyst), f"/documents/{second.pk}/versions/decide/"
    assert client.post(path, {"decision": "perhaps"})["Location"] == f"/documents/{second.pk}/"
    assert client.post(path, {"decision": "decline"})["Location"] == f"/documents/{second.pk}/"
    assert client_as(cast.reviewer).post(path, {"decision": "accept"}).status_code == 404
    assert client.post(path, {"decision": "accept"})["Location"] == f"/documents/{second.pk}/versions/"
    assert VersionOffer.objects.get().state == OfferState.ACCEPTED


def test_the_page_shows_sections_side_by_side_and_the_difference(
    cast: Cast, decided: dict[str, Candidate], first: Document, second: Document, client_as: ClientAs
) -> None:
    version_accept(actor=cast.analyst, document=second)
    anchors_carry_over(document_id=second.pk)
    client = client_as(cast.reviewer)
    body = client.get(f"/documents/{second.pk}/versions/").content.decode()
    assert "2 same, 1 changed, 1 added, 0 removed" in body
    assert "<del>twenty-four</del>" in body  # of the reopened anchor
    assert "<ins>thirty-six</ins>" in body
    opened = client.get(f"/documents/{second.pk}/versions/?section=2").content.decode()
    assert "<del>Payment" in opened
    item = client.get(f"/queue/{decided['2 Retention'].queue_item.pk}/").content.decode()
    assert "<ins>thirty-six</ins>" in item
    assert "the passage changed in a new version" in item
    assert "There is a newer version" in client.get(f"/documents/{first.pk}/").content.decode()


# --- real files -------------------------------------------------------------------------------------


@pytest.mark.data
def test_a_deleted_version_is_not_shown_beside_the_other(
    cast: Cast, first: Document, second: Document, client_as: ClientAs
) -> None:
    version_accept(actor=cast.analyst, document=second)
    page = reverse("documents:versions", args=[second.pk])
    assert client_as(cast.auditor).get(page).context["older"] == first
    document_delete(actor=cast.admin, document=first, reason="The client asked for it.")
    shown = client_as(cast.auditor).get(page)
    assert shown.context["older"] is None
    assert "rows" not in shown.context
    document_keep(actor=cast.admin, document=first, reason="It was a mistake.")
    document_delete(actor=cast.admin, document=second, reason="The client asked for it.")
    assert client_as(cast.auditor).get(page).context["older"] is None


def test_three_versions_of_one_agreement(
    cast: Cast, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "current_embedder", HashEmbedder)
    # The oldest is read from the images of its pages, which takes seconds for each.
    monkeypatch.setattr(ingest, "ParseLimits", partial(ParseLimits, max_ocr_pages=3))
    folder = shared_data / "documents" / "pdf_basecamp"
    names = [
        "Basecamp_Data_Processing_Addendum_v201805.pdf",
        "Basecamp_Data_Processing_Addendum_v202212.pdf",
        "Data_Processing_Addendum_current.pdf",
    ]
    documents = [_read(cast, folder / name) for name in names]
    assert VersionOffer.objects.get(document=documents[1]).older == documents[0]
    VersionOffer.objects.get_or_create(document=documents[2], defaults={"older": documents[1]})
    run = make_run(asker=cast.analyst, document=documents[0], text="When is a personal data breach notified?")
    decided = decide(cast, run)
    for document in documents[1:]:
        version_accept(actor=cast.analyst, document=document)
        anchors_carry_over(document_id=document.pk)
    assert versions_of(documents[0]) == documents
    states = list(CarriedAnchor.objects.filter(document=documents[1]).values_list("state", flat=True))
    assert decided
    assert len(states) == run.candidates.count()
    for row in CarriedAnchor.objects.filter(state=CarriedState.CARRIED):
        assert row.text_hash == row.matched_hash
    assert all(sections_of(document) for document in documents)


def _read(cast: Cast, path: Path) -> Document:
    outcome = document_upload(
        actor=cast.analyst, collection=cast.alpha, file=ContentFile(path.read_bytes()), name=path.name
    )
    ingest.document_ingest(document_id=outcome.document.pk)
    document = Document.objects.get(pk=outcome.document.pk)
    assert document.status == "ready", document.failure_reason
    return document


def test_an_offer_names_no_document_that_the_caller_may_not_read(
    cast: Cast, first: Document, second: Document, client_as: ClientAs
) -> None:
    def older(person: User) -> int | None:
        told = client_as(person).get(f"/api/v1/documents/{second.pk}/versions/").json()
        return told["offer"] and told["offer"]["older"]  # type: ignore[no-any-return]

    assert older(cast.analyst) == first.pk
    restriction_set(actor=cast.admin, document=first, readers=[], reason="Personal data.")
    assert older(cast.admin) == first.pk
    assert older(cast.analyst) is None
    path = f"/api/v1/documents/{second.pk}/version-decision/"
    given = {"decision": "declined"}
    declined = client_as(cast.analyst).post(path, given, content_type="application/json")
    assert declined.status_code == 409
