"""Projects, pairs and further annotators for tests."""

from __future__ import annotations

from arbitration.evaluation.question_groups import question_hash
from tests.workbench.cast import PASSWORD, Cast
from tests.workbench.scene import make_document
from workbench.accounts.models import MemberRole, Membership, User
from workbench.documents.models import Document
from workbench.labeling.models import GuidelineVersion, Pair, PairOrigin, Project, Slot
from workbench.labeling.supply import part


def make_project(cast: Cast, *, name: str = "Records") -> Project:
    """A project of alpha with guidelines and a document; nothing at random, no checks, nothing double-coded."""
    make_document(collection=cast.alpha, owner=cast.analyst)
    GuidelineVersion.objects.create(
        collection=cast.alpha, number=1, body="Primary carries the answer.", written_by=cast.admin
    )
    return Project.objects.create(
        collection=cast.alpha,
        name=name,
        random_share=0,
        gold_share=0,
        double_share=0,
        created_by=cast.admin,
    )


def make_pairs(
    project: Project,
    count: int,
    *,
    places: int = 1,
    start: int = 0,
    priorities: list[float] | None = None,
    gold_role: str | None = None,
) -> list[Pair]:
    """Different questions on lines of the document, each with its places."""
    document = Document.objects.get(collection=project.collection)
    pairs = []
    for number in range(start, start + count):
        question = f"How long are access records of system {number} kept?"
        pair = Pair.objects.create(
            project=project,
            collection=project.collection,
            question=question,
            question_hash=question_hash(question),
            document=document,
            page_start=1,
            line_start=4,
            page_end=1,
            line_end=7,
            text_hash="0" * 64,
            origin=PairOrigin.RUN,
            priority=priorities[number - start] if priorities else 0.5,
            shuffle=part(f"{project.pk}:{number}"),
            gold_role=gold_role,
        )
        Slot.objects.bulk_create(Slot(pair=pair, number=place + 1) for place in range(places))
        pairs.append(pair)
    return pairs


def annotators(cast: Cast, count: int) -> list[User]:
    """More annotators of alpha."""
    people = []
    for number in range(count):
        email = f"annotator-{number}@example.org"
        user = User.objects.filter(email=email).first()
        if user is None:
            user = User.objects.create_user(email, PASSWORD, name=f"Annotator {number}")
            Membership.objects.create(user=user, collection=cast.alpha, role=MemberRole.ANNOTATOR)
        people.append(user)
    return people


def any_project(document: Document) -> Project:
    """A project of a document's collection, for tests of addresses."""
    found = Project.objects.filter(collection=document.collection).first()
    return found or Project.objects.create(
        collection=document.collection, name="Access records of Alpha", created_by=document.uploaded_by
    )


def any_pair(document: Document) -> Pair:
    """A pair of a document."""
    return Pair.objects.filter(document=document).first() or make_pairs(any_project(document), 1)[0]


def any_slot(document: Document) -> Slot:
    """A place of a pair of a document."""
    slot = any_pair(document).slots.first()
    assert slot is not None
    return slot
