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
