"""The rows of the table of rights: what a request holds, and what is true before it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models.functions import Now

from arbitration.strategies.rubrics import PROPERTIES
from tests.workbench.addresses import undecided
from tests.workbench.cast import PASSWORD
from tests.workbench.labeling.makers import any_pair, any_project, any_slot
from tests.workbench.rerankers.makers import any_model, any_snapshot
from tests.workbench.review.signed import signed
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.archives.writing import archive_write
from workbench.audit.services import audit_seal
from workbench.collection_settings.models import THRESHOLDS, BarProposal, CollectionBar, GateProposal
from workbench.directory.models import DirectoryGroup
from workbench.documents.models import (
    Collection,
    CollectionField,
    Document,
    DocumentStatus,
    OfferState,
    VersionOffer,
)
from workbench.labeling.models import Slot
from workbench.rerankers.models import AliasName, ModelAlias, ModelVersion
from workbench.rerankers.services import schedule_current
from workbench.review.models import ItemStage, QueueItem
from workbench.review.record import record_digest, signed_record
from workbench.runs.gateway import llm_control
from workbench.runs.models import Run, RunStatus, Verdict

OTHER_PASSWORD = "another-horse-battery-staple"
MEMBERS = "ARNDU"
ROLES = MEMBERS + MEMBERS.lower()
SIGNED_IN = ROLES + "S!"
EVERYBODY = SIGNED_IN + "?"

Given = Callable[[Scene, User], None]
Data = Callable[[Scene], Mapping[str, Any]]


def nothing(scene: Scene) -> Mapping[str, Any]:
    """No fields."""
    return {}


def as_it_is(scene: Scene, actor: User) -> None:
    """The scene needs no preparation."""


@dataclass(frozen=True, slots=True)
class Row:
    """``who`` are the letters of those for whom the request does something; ``data`` its fields, ``given`` what is
    true before."""

    name: str
    method: str
    who: str
    data: Data = nothing
    given: Given = as_it_is


def get(name: str, who: str, data: Data = nothing, given: Given = as_it_is) -> Row:
    """A page, or an object of the API."""
    return Row(name, "GET", who, data, given)


def post(name: str, who: str, data: Data = nothing, given: Given = as_it_is) -> Row:
    """An act."""
    return Row(name, "POST", who, data, given)


# --- fields -------------------------------------------------------------------------------------------------


def fields(**values: Any) -> Data:
    """The same fields whatever the scene holds."""
    return lambda scene: values


def a_file(name: str, content: str, key: str = "file", **others: Any) -> Data:
    """A file to upload, made anew for each request."""
    return lambda scene: {key: SimpleUploadedFile(name, content.encode(), "text/plain"), **others}


def described(scene: Scene) -> Mapping[str, Any]:
    """The document ticked in its list, and a tag for it."""
    return {"document": [scene.document.pk], "add_tags": "signed"}


def api_described(scene: Scene) -> Mapping[str, Any]:
    """The same by the API."""
    return {"documents": [scene.document.pk], "add_tags": ["signed"]}


def a_field(scene: Scene, actor: User) -> None:
    """A field of the collection's own."""
    CollectionField.objects.get_or_create(collection=scene.document.collection, name="Owner")


def sealed(scene: Scene, actor: User) -> None:
    """Every event has its place in the chain."""
    audit_seal(wait=True)


def a_zip(scene: Scene) -> Mapping[str, Any]:
    """A ZIP of one file, to become a document."""
    target = BytesIO()
    with ZipFile(target, "w") as archive:
        archive.writestr("new.txt", "Words.")
    return {
        "collection": "alpha",
        "file": SimpleUploadedFile("new.zip", target.getvalue(), "application/zip"),
    }


def an_archive(scene: Scene) -> Mapping[str, Any]:
    """The other collection, which is empty, as an archive to take in."""
    target = BytesIO()
    archive_write(collection=Collection.objects.get(slug="beta"), target=target)
    return {
        "file": SimpleUploadedFile("beta.zip", target.getvalue(), "application/zip"),
        "collection": "gamma",
    }


def an_archive_alone(scene: Scene) -> Mapping[str, Any]:
    """The same as a page takes it: the short name is asked later."""
    return {"file": an_archive(scene)["file"]}


def true_hashes(scene: Scene, actor: User) -> None:
    """Documents are named by the hash of their bytes, which those of the scene are not."""
    for document in scene.document.collection.documents.all():
        sha256 = hashlib.sha256(document.file.open().read()).hexdigest()
        Document.objects.filter(pk=document.pk).update(sha256=sha256)


def question(scene: Scene) -> Mapping[str, Any]:
    """A question of the document, as the form and the API take it."""
    return {"collection": "alpha", "text": "Who deletes the records?", "strategy": "offline"}


def comparison(scene: Scene) -> Mapping[str, Any]:
    """The same under two strategies."""
    return {
        "collection": "alpha",
        "text": "Who deletes the records?",
        "strategies": ["offline", "bm25"],
    }


def signature(scene: Scene) -> dict[str, Any]:
    """What a signature is bound to, and the password."""
    return {"password": PASSWORD, "meaning": "reviewed"}


def page_signature(scene: Scene) -> Mapping[str, Any]:
    """As the form sends it."""
    return signature(scene) | {"seen_sha256": record_digest(signed_record(scene.run))}


def api_signature(scene: Scene) -> Mapping[str, Any]:
    """As the API takes it."""
    return signature(scene) | {
        "run": scene.run.pk,
        "record_sha256": record_digest(signed_record(scene.run)),
    }


def lines_of(scene: Scene) -> Mapping[str, Any]:
    """Lines that the machine missed."""
    return {
        "from_page": 1,
        "from_line": 1,
        "to_page": 1,
        "to_line": 2,
        "role": "supporting",
        "reason": "Scope.",
    }


def api_lines(scene: Scene) -> Mapping[str, Any]:
    """The same for the API."""
    span = {"page_start": 1, "line_start": 1, "page_end": 1, "line_end": 2}
    return {"document": scene.document.pk, "role": "supporting", "reason": "Scope.", **span}


def override(scene: Scene) -> Mapping[str, Any]:
    """Another role than the machine's."""
    role = scene.run.candidates.first().verdict.role
    return {"role": "discarded" if role != "discarded" else "primary", "reason_code": "wrong_role"}


def other_role(scene: Scene) -> Mapping[str, Any]:
    """Another role than the machine's, and a reason in words."""
    role = undecided(scene).verdict.role
    return {"role": "discarded" if role != "discarded" else "primary", "comment": "The period is named."}


def decision(scene: Scene) -> Mapping[str, Any]:
    """A decision by the API."""
    return {"candidate": scene.run.candidates.first().pk, "action": "approve"}


def compared(scene: Scene) -> Mapping[str, Any]:
    """A decision for a candidate in each run of the comparison."""
    candidate = (
        scene.comparison.runs.order_by("pk").first().candidates.filter(verdict__role__isnull=False).first()
    )
    other = "discarded" if candidate.verdict.role != "discarded" else "primary"
    return {"candidate_id": candidate.candidate_id, "role": other, "reason_code": "wrong_role"}


def label_file(scene: Scene) -> Mapping[str, Any]:
    """A file of one label."""
    table = "question,document,page,line_from,role\nWho?,policy.txt,1,2,primary\n"
    file = SimpleUploadedFile("labels.csv", table.encode(), "text/csv")
    return {"file": file, "file_format": "table", "source": "annotator", "judge": "Somebody"}


def webhook(scene: Scene) -> Mapping[str, Any]:
    """An address and what it is told of, as the form and the API take it."""
    return {"collection": "alpha", "url": "https://93.184.215.14/new", "events": ["run.finished"]}


def source(scene: Scene) -> Mapping[str, Any]:
    """A watched folder, as the API takes it."""
    from tests.workbench.addresses import source_folder

    settings = {"folder": str(source_folder() / "alpha")}
    return {"collection": "alpha", "kind": "folder", "name": "In", "settings": settings}


def source_form(scene: Scene) -> Mapping[str, Any]:
    """The same, as the form takes it."""
    given = source(scene)
    return {"kind": "folder", "name": "In", "set_folder": given["settings"]["folder"]}


def collection_settings(scene: Scene) -> Mapping[str, Any]:
    """Another description, with the weights that the form asks for."""
    return {"description": "Other words."} | dict.fromkeys(PROPERTIES, 0.5)


def api_settings(scene: Scene) -> Mapping[str, Any]:
    """The same as the API takes it: all the values."""
    return {
        "description": "Other words.",
        "default_strategy": "",
        "allowed_endpoints": [],
        "criteria_weights": dict.fromkeys(PROPERTIES, 0.5),
        "contributes_to_training": False,
    }


def another_factor(scene: Scene) -> Mapping[str, Any]:
    """A second factor of somebody else."""
    return {"user": scene.run.requested_by_id, "type": "totp", "data": "{}"}


def hand_over(scene: Scene) -> Mapping[str, Any]:
    """The item goes to the second reviewer."""
    return {"person": User.objects.get(email="second-reviewer@example.org").pk}


def run_named(scene: Scene) -> Mapping[str, Any]:
    """The run of the scene, by its key."""
    return {"run": scene.run.pk}


def bulk(scene: Scene) -> Mapping[str, Any]:
    """What the preview of a reviewer holds."""
    from workbench.review.bulk import bulk_preview
    from workbench.review.filters import QueueFilter

    reviewer = User.objects.get(email="reviewer@example.org")
    preview = bulk_preview(actor=reviewer, filters=QueueFilter.of({}))
    items = [item.pk for item in preview.items]
    return {"digest": preview.digest, "reason": "Alike.", "comment": "Alike.", "item": items}


def thresholds(scene: Scene) -> Mapping[str, Any]:
    """Thresholds by hand."""
    values = dict.fromkeys(THRESHOLDS, 0.5)
    return values | {"reason": "Measured.", "seen_revision": 0}


# --- what is true before ------------------------------------------------------------------------------------


def address_known(scene: Scene, actor: User) -> None:
    """The caller's address is in allauth's own table, where it comes when they first look at it."""
    from allauth.account.models import EmailAddress

    EmailAddress.objects.get_or_create(user=actor, email=actor.email, defaults={"primary": True})


def analysts_address_known(scene: Scene, actor: User) -> None:
    """The same for the analyst, whoever asks."""
    address_known(scene, User.objects.get(email="analyst@example.org"))


def failed_document(scene: Scene, actor: User) -> None:
    """The document could not be read."""
    Document.objects.filter(pk=scene.document.pk).update(
        status=DocumentStatus.FAILED, failure_code="corrupt", failure_reason="It is broken."
    )


def deleted_document(scene: Scene, actor: User) -> None:
    """The document waits to be erased."""
    from workbench.documents.erasure import document_delete

    admin = User.objects.get(email="admin@example.org")
    document_delete(actor=admin, document=scene.document, reason="Asked for by the client.")


def document_on_its_way(scene: Scene, actor: User) -> None:
    """The document waits for a worker."""
    Document.objects.filter(pk=scene.document.pk).update(status=DocumentStatus.QUEUED)


def offered(scene: Scene, actor: User) -> None:
    """The document is offered as a new version of another."""
    from tests.workbench.scene import make_document

    older = make_document(
        collection=scene.document.collection, owner=scene.document.uploaded_by, name="older.txt"
    )
    VersionOffer.objects.create(document=scene.document, older=older, state=OfferState.OPEN)


def run_on_its_way(scene: Scene, actor: User) -> None:
    """The run waits for a worker."""
    Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.QUEUED, finished_at=None)


def failed_run(scene: Scene, actor: User) -> None:
    """The run failed."""
    Run.objects.filter(pk=scene.run.pk).update(status=RunStatus.FAILED, failure_reason="It broke.")


def signed_run(scene: Scene, actor: User) -> None:
    """The run is signed."""
    signed(scene.run)


def all_decided(scene: Scene, actor: User) -> None:
    """Nothing of the run waits."""
    scene.run.queue_items.update(state="decided", decided_at=Now())


def not_found(scene: Scene, actor: User) -> None:
    """The run found nothing."""
    from workbench.review.models import ItemState

    scene.run.queue_items.all().delete()
    Run.objects.filter(pk=scene.run.pk).update(not_found=True, not_found_reason="all_discarded")
    QueueItem.objects.create(
        run=scene.run, collection=scene.run.collection, state=ItemState.WAITING, is_required=True
    )


def not_found_confirmed(scene: Scene, actor: User) -> None:
    """The person asked has confirmed that there is nothing."""
    from workbench.review.services import not_found_confirm

    not_found(scene, actor)
    reviewer = User.objects.get(email="reviewer@example.org")
    not_found_confirm(actor=reviewer, run=Run.objects.get(pk=scene.run.pk))


def first_of_queue(scene: Scene) -> QueueItem:
    """The item that the address of an item names."""
    return scene.run.queue_items.order_by("id").first()


def claimed(scene: Scene, actor: User) -> None:
    """The reviewer holds the item."""
    from workbench.review.queue import queue_claim

    reviewer = User.objects.get(email="reviewer@example.org")
    QueueItem.objects.filter(pk=first_of_queue(scene).pk).update(state="waiting")
    queue_claim(actor=reviewer, item=QueueItem.objects.get(pk=first_of_queue(scene).pk))


def waiting(scene: Scene, actor: User) -> None:
    """Nothing of the run was decided yet."""
    scene.run.queue_items.update(state="waiting", decided_at=None)


def clear_cut(scene: Scene, actor: User) -> None:
    """Nothing was decided yet, and the machine is sure."""
    waiting(scene, actor)
    verdicts = Verdict.objects.filter(candidate__run=scene.run)
    verdicts.update(probability=0.97, needs_person=False, injection_suspected=False)


def blind(scene: Scene, actor: User) -> None:
    """The card is to be decided without sight of the machine's word."""
    QueueItem.objects.filter(candidate=undecided(scene)).update(
        state="waiting", is_blind=True, stage=ItemStage.FIRST
    )


def disputed(scene: Scene, actor: User) -> None:
    """Two reviewers disagree on the card."""
    from workbench.accounts.models import MemberRole, Membership
    from workbench.review.second import second_review_add
    from workbench.review.services import candidate_approve

    candidate = scene.run.candidates.select_related("verdict", "run").first()
    items = QueueItem.objects.filter(candidate=candidate)
    items.update(state="waiting", needs_second=True, stage=ItemStage.FIRST)
    people = []
    for number in range(2):
        person = User.objects.create_user(f"other-{number}@example.org", PASSWORD, name=f"Other {number}")
        Membership.objects.create(user=person, collection=scene.run.collection, role=MemberRole.REVIEWER)
        people.append(person)
    seen = candidate.reviews.order_by("pk").last()
    candidate_approve(actor=people[0], candidate=candidate, seen_review_id=seen.pk if seen else None)
    second_review_add(actor=people[1], candidate=candidate, role=other_role(scene)["role"])


def decided_by_the_reviewer(scene: Scene, actor: User) -> None:
    """The reviewer's own decision stands on the card."""
    from workbench.review.services import candidate_approve

    candidate = scene.run.candidates.select_related("verdict", "run").first()
    if candidate.reviews.exists():
        return
    candidate_approve(actor=User.objects.get(email="reviewer@example.org"), candidate=candidate)


def failed_cell(scene: Scene, actor: User) -> None:
    """The first cell's run failed."""
    cell = scene.round.cells.order_by("pk").first()
    Run.objects.filter(pk=cell.run_id).update(status=RunStatus.FAILED, failure_reason="It broke.")


def stale_answer(scene: Scene, actor: User) -> None:
    """People's decisions changed the evidence of the answer."""
    scene.run.answers.update(is_stale=True)


def a_notification(scene: Scene, actor: User) -> None:
    """The caller was told something."""
    from workbench.review.models import Notification, NotificationKind

    Notification.objects.create(
        user=actor,
        kind=NotificationKind.MENTION,
        actor=scene.run.requested_by,
        collection=scene.run.collection,
        run=scene.run,
    )


def on_the_desk(scene: Scene, actor: User) -> None:
    """The pair lies on the annotator's desk."""
    from workbench.labeling.models import GuidelineVersion
    from workbench.labeling.work import slot_claim_next

    collection = scene.document.collection
    any_slot(scene.document)
    GuidelineVersion.objects.get_or_create(
        collection=collection, number=1, defaults={"body": "How.", "written_by": scene.document.uploaded_by}
    )
    annotator = User.objects.get(email="annotator@example.org")
    slot_claim_next(actor=annotator, project=any_project(scene.document))


def pair_supplied(scene: Scene, actor: User) -> None:
    """A pair waits to be labelled."""
    from workbench.labeling.models import GuidelineVersion

    any_pair(scene.document)
    GuidelineVersion.objects.get_or_create(
        collection=scene.document.collection,
        number=1,
        defaults={"body": "How.", "written_by": scene.document.uploaded_by},
    )


def a_missed_delivery(scene: Scene, actor: User) -> None:
    """A message to a webhook was given up."""
    from tests.workbench.addresses import a_delivery

    a_delivery(scene)


def a_paused_source(scene: Scene, actor: User) -> None:
    """The source of the address is not looked at."""
    from workbench.sources.models import Source

    Source.objects.update(state="paused")


def a_paused_webhook(scene: Scene, actor: User) -> None:
    """The webhook of the address is told of nothing."""
    from workbench.webhooks.models import Webhook

    Webhook.objects.update(state="paused")


def labelled(scene: Scene, actor: User) -> None:
    """The annotator has just answered."""
    from workbench.labeling.work import slot_answer

    on_the_desk(scene, actor)
    annotator = User.objects.get(email="annotator@example.org")
    slot_answer(actor=annotator, slot=Slot.objects.get(person=annotator), role="primary")


def models_stopped(scene: Scene, actor: User) -> None:
    """The stop switch is on."""
    from workbench.operations.control import llm_stop

    llm_stop(actor=User.objects.system(), reason="A test.")


def two_judgments(scene: Scene, actor: User) -> None:
    """Two annotators disagree on the pair."""
    from workbench.accounts.models import MemberRole, Membership
    from workbench.labeling.work import slot_answer, slot_claim_next

    pair_supplied(scene, actor)
    pair, project = any_pair(scene.document), any_project(scene.document)
    Slot.objects.create(pair=pair, number=2)
    for number, role in enumerate(("primary", "discarded")):
        person = User.objects.create_user(f"judge-{number}@example.org", PASSWORD, name=f"Judge {number}")
        Membership.objects.create(
            user=person, collection=scene.document.collection, role=MemberRole.ANNOTATOR
        )
        slot_answer(actor=person, slot=slot_claim_next(actor=person, project=project), role=role)


def a_profile() -> Any:
    """Thresholds in the embedding space in use."""
    from arbitration.triage import GateProfile
    from workbench.documents.embedding import active_space

    return GateProfile(name="by hand", embedding_space=active_space().name, **dict.fromkeys(THRESHOLDS, 0.5))


def thresholds_set(scene: Scene, actor: User) -> None:
    """The collection has thresholds."""
    from workbench.collection_settings.services import gates_apply

    admin = User.objects.get(email="admin@example.org")
    gates_apply(actor=admin, collection=scene.document.collection, profile=a_profile(), seen_revision=0)


def a_proposal(scene: Scene, actor: User) -> None:
    """Calibration proposes thresholds."""
    GateProposal.objects.create(
        collection=scene.document.collection,
        name="proposed",
        space=a_profile().embedding_space,
        bias={},
        source="labels",
        questions=1,
        evidence=1,
        rejected_share=0,
        accepted_share=0,
        created_by=scene.document.uploaded_by,
        **dict.fromkeys(THRESHOLDS, 0.5),
    )


def in_legal(scene: Scene, actor: User) -> None:
    """Whoever asks belongs to the group that they name."""
    group, _is_new = DirectoryGroup.objects.get_or_create(source="scim", name="Legal")
    group.members.add(actor)


def a_bar_proposed(scene: Scene, actor: User) -> None:
    """A bar was computed that keeps a promise."""
    from workbench.documents.embedding import active_space
    from workbench.runs.reranking import reranker_state

    BarProposal.objects.create(
        collection=scene.document.collection,
        decides="discard",
        promised=0.1,
        state="ready",
        measure="estimate",
        space=active_space().name,
        reranker=reranker_state(),
        questions=9,
        groups=9,
        needed=9,
        bar=0.04,
        ways=[{"bar": 0.04, "seen": 0.04, "lost": 0.0, "bound": 0.1, "cards": 6.0}],
        requested_by=scene.document.uploaded_by,
    )


def bar_to_apply(scene: Scene) -> Mapping[str, Any]:
    """Putting it to use."""
    return {"proposal": BarProposal.objects.latest("pk").pk, "seen_revision": 0, "reason": "Measured."}


def a_bar_in_use(scene: Scene, actor: User) -> None:
    """The collection keeps a promise."""
    from workbench.collection_settings.bars import bar_apply
    from workbench.runs.reranking import reranker_state

    a_bar_proposed(scene, actor)
    bar_apply(
        actor=User.objects.get(email="admin@example.org"),
        collection=scene.document.collection,
        proposal=BarProposal.objects.latest("pk"),
        seen_revision=0,
        reranker=reranker_state(),
    )


def bar_to_remove(scene: Scene) -> Mapping[str, Any]:
    """Going back to what ships."""
    return {"bar": CollectionBar.objects.latest("pk").pk, "seen_revision": 1, "reason": "Wrong."}


def proposal(scene: Scene) -> Mapping[str, Any]:
    """Applying it."""
    return {"proposal": GateProposal.objects.latest("pk").pk, "seen_revision": 0, "reason": "Measured."}


def without_password(scene: Scene, actor: User) -> None:
    """The member of the address has not set a password yet."""
    User.objects.filter(pk=scene.run.requested_by_id).update(password="!")


def once_passed(scene: Scene, actor: User) -> None:
    """The model of the address was trained here and passed the gate at some time; its file is taken as whole."""
    ModelVersion.objects.filter(pk=any_model().pk).update(
        passed_at=Now(), origin="trained", snapshot=any_snapshot()
    )


def in_shadow(scene: Scene, actor: User) -> None:
    """The model of the address scores in shadow."""
    ModelAlias.objects.create(name=AliasName.SHADOW, version=any_model())


def singletons() -> None:
    """Rows of which there is one, made when they are first read: reading them is no act."""
    llm_control()
    schedule_current()


def schedule(scene: Scene) -> Mapping[str, Any]:
    """Another schedule, as the API takes it: whole."""
    minimum = dict.fromkeys(("min_new_labels", "min_positives", "min_negatives", "min_questions"), 1)
    return {"is_on": True, "day": 3, "hour": 4, "interval_excludes_zero": False, **minimum}


def link(scene: Scene) -> Mapping[str, Any]:
    """A link for an outsider."""
    return {"run": scene.run.pk, "reason": "For the auditor.", "days": 30}


def period(scene: Scene) -> Mapping[str, Any]:
    """A period of the collection's trail."""
    return {"collection": scene.document.collection_id, "first": "2026-01-01", "last": "2026-01-31"}


def period_named(scene: Scene) -> Mapping[str, Any]:
    """The same as the API takes it."""
    return {**period(scene), "collection": scene.document.collection.slug}


def api_thresholds(scene: Scene) -> Mapping[str, Any]:
    """Thresholds by hand, as the API takes them."""
    return {"thresholds": dict.fromkeys(THRESHOLDS, 0.5), "reason": "Measured.", "seen_revision": 0}
