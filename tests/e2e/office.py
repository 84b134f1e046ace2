"""A collection of its own with its own people, its own documents and as many waiting candidates as wanted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import httpx2 as httpx
import psycopg

from tests.bulk import analyse, copy_runs
from tests.e2e.browser import Visitor
from tests.product import PASSWORD, RunningProduct, eventually

SLUG = "office"
PEOPLE = ("analyst", "reviewer", "annotator", "admin", "auditor")
_OPEN = """
from workbench.accounts.models import Membership, User
from workbench.documents.models import Collection
from workbench.review.models import ReviewPolicy
office = Collection.objects.create(slug={slug!r}, name="Office")
ReviewPolicy.objects.create(collection=office, blind_share=0, changed_by=User.objects.system())
for role in {people!r}:
    person = User.objects.create_user(f"{{role}}@{slug}.example", {password!r}, name=f"{{role.title()}} Field")
    Membership.objects.create(user=person, collection=office, role=role)
"""


@dataclass(frozen=True)
class Scale:
    """How much there is: files to upload, candidates to wait, cards to decide in one sitting."""

    files: int
    candidates: int
    cards: int


@dataclass(frozen=True)
class Office:
    """The collection as the journeys find it."""

    product: RunningProduct
    scale: Scale
    files: list[Path]
    question: str

    @property
    def path(self) -> str:
        """The collection's page."""
        return f"/collections/{SLUG}/"

    def client(self, role: str) -> httpx.Client:
        """A browser session of one of its people, without a browser."""
        return self.product.client(role, house=SLUG)

    def count(self, query: str, *values: object) -> int:
        """One number from the database."""
        return int(self.product.rows(query, *values)[0][0])


def open_office(product: RunningProduct, scale: Scale, *, files: list[Path], question: str) -> Office:
    """Makes the collection and its people; nothing is uploaded yet."""
    script = _OPEN.format(slug=SLUG, people=PEOPLE, password=PASSWORD)
    done = product.manage("shell", "-c", script)
    assert done.returncode == 0, done.stderr[-2000:]
    return Office(product, scale, files, question)


def sign_in(visitor: Visitor, role: str) -> Visitor:
    """Through the door, as one of the office."""
    visitor.log_in(role, house=SLUG)
    return visitor


def wait_until_read(office: Office, *, seconds: float = 900) -> None:
    """Every file has ended, and all of them well."""
    query = (
        "SELECT count(*) FILTER (WHERE status = 'ready'), count(*) FILTER (WHERE status = 'failed'), count(*)"
        " FROM documents_document d JOIN documents_collection c ON c.id = d.collection_id WHERE c.slug = %s"
    )
    wanted = len(office.files)
    eventually(
        lambda: office.product.rows(query, SLUG)[0] == (wanted, 0, wanted),
        seconds=seconds,
        what=f"{wanted} documents are ready: {json.dumps(office.product.rows(query, SLUG))}",
    )


def fill_queue(office: Office, *, run: int) -> int:
    """Copies the run until so many candidates wait; gives their number."""
    each = office.count("SELECT count(*) FROM questions_candidate WHERE run_id = %s", run)
    with psycopg.connect(office.product.database_url()) as connection:
        copy_runs(connection, source=run, copies=max(1, -(-office.scale.candidates // each)))
        connection.commit()
        analyse(connection)
    return office.count(
        "SELECT count(*) FROM questions_candidate c JOIN questions_run r ON r.id = c.run_id"
        " JOIN documents_collection k ON k.id = r.collection_id WHERE k.slug = %s",
        SLUG,
    )
