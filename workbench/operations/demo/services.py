"""Makes the demo: a collection, its people and its documents. Running it again changes nothing that is there."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.files.base import ContentFile
from django.db import transaction

from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.models import Collection, Document
from workbench.documents.services import collection_create, document_upload
from workbench.people.services import membership_grant, user_create
from workbench.review.policy import policy_set

from .library import DEMO_DOCUMENTS, DemoDocument
from .logins import demo_passwords
from .people import DEMO_PEOPLE, DemoPerson

DEMO_SLUG = "demo"


@dataclass(frozen=True, slots=True)
class DemoLogin:
    """How to log in as one of the demo's people."""

    role: str
    email: str
    password: str


@dataclass(frozen=True, slots=True)
class Demo:
    """What there is now; ``document_ids`` in the order of the library."""

    collection: str
    document_ids: tuple[int, ...]
    logins: tuple[DemoLogin, ...]


def demo_create(*, actor: User) -> Demo:
    """Creates what is missing of the demo and gives the logins.

    Documents are queued for the workers, not waited for. A document that was deleted comes back; a password that
    a demo person has changed is set back to the one that is printed.
    """
    passwords = demo_passwords(person.email for person in DEMO_PEOPLE)
    with transaction.atomic():
        collection = _collection(actor)
        for person in DEMO_PEOPLE:
            _person(actor, collection, person, password=passwords[person.email])
    return Demo(
        collection=collection.slug,
        document_ids=tuple(_document(actor, collection, document) for document in DEMO_DOCUMENTS),
        logins=tuple(
            DemoLogin(str(person.role), person.email, passwords[person.email]) for person in DEMO_PEOPLE
        ),
    )


def _collection(actor: User) -> Collection:
    found = Collection.objects.filter(slug=DEMO_SLUG).first()
    if found is not None:
        return found
    collection = collection_create(
        actor=actor,
        slug=DEMO_SLUG,
        name="Demo",
        description="A policy, a contract with its amendment, a regulation and a Spanish policy, all invented.",
    )
    # A blind card would hide the answer of a first question until its reviewer has decided.
    policy_set(actor=actor, collection=collection, blind_share=0, second_share=0)
    return collection


def _person(actor: User, collection: Collection, person: DemoPerson, *, password: str) -> None:
    user = User.objects.filter(email=person.email).first()
    if user is None:
        user = user_create(
            actor=actor, email=person.email, name=person.name, password=password, is_staff=person.is_staff
        )
    elif not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
        audit_record(actor=actor, action=Action.ACCOUNT_PASSWORD_SET, obj=user, reason="demo login")
    membership_grant(actor=actor, user=user, collection=collection, role=person.role)


def _document(actor: User, collection: Collection, demo: DemoDocument) -> int:
    """Uploads a document and writes its cover; gives its key."""
    cover = {
        "document_type": demo.document_type,
        "issuer": demo.issuer,
        "jurisdiction": demo.jurisdiction,
        "effective_date": demo.effective_date,
        "tags": list(demo.tags),
    }
    with transaction.atomic():
        file = ContentFile(demo.content(), name=demo.name)
        outcome = document_upload(actor=actor, collection=collection, file=file, name=demo.name)
        if not outcome.is_duplicate:
            Document.objects.filter(pk=outcome.document.pk).update(**cover)
            audit_record(actor=actor, action=Action.DOCUMENT_DESCRIBED, obj=outcome.document, after=cover)
    return outcome.document.pk
