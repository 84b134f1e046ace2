"""Tags and fields of documents: read by the machine and set by people, apart; in bulk; as filters of everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.workbench.cast import Cast
from tests.workbench.scene import TEXT, make_document, make_run
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.documents.describing import Changes, document_describe, documents_describe
from workbench.documents.fields import carried, field_add, field_remove
from workbench.documents.models import Document, DocumentField
from workbench.documents.narrowing import ScopeFilter, facts_of, keys_matching
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.runs.services import question_ask

pytestmark = pytest.mark.usefixtures("here")

ClientAs = Callable[[User | None], Client]
CONTRACT = {
    "Services Agreement": [
        "Dated 1 March 2026, between Acme Corp. and Beta LLC.",
        "Access records are kept for twelve months.",
    ]
}
UNKNOWN: dict[str, Any] = {
    "document_type": "", "issuer": "", "jurisdiction": "", "effective_date": None, "tags": [],
}  # fmt: skip


@pytest.fixture
def contract(cast: Cast) -> Document:
    return make_document(collection=cast.alpha, owner=cast.analyst, name="contract.txt", text=CONTRACT)


@pytest.fixture
def policy(cast: Cast) -> Document:
    return make_document(collection=cast.alpha, owner=cast.analyst, name="policy.txt", text=TEXT)


def passing(cast: Cast, **given: Any) -> set[str]:
    keys = keys_matching(Document.objects.filter(collection=cast.alpha), ScopeFilter(**given))
    return set(Document.objects.filter(pk__in=keys).values_list("name", flat=True))


def test_what_was_read_counts_until_a_person_sets_the_field(
    cast: Cast, contract: Document, policy: Document
) -> None:
    assert passing(cast, parties=["acme corp."]) == {"contract.txt"}
    assert passing(cast, document_types=["Contract"], effective_from="2026-03-01") == {"contract.txt"}
    facts = facts_of(collections=[cast.alpha], user=cast.analyst)
    assert (facts.parties, facts.document_types, facts.has_dates) == (
        ("Acme Corp.", "Beta LLC"),
        ("contract",),
        True,
    )

    said = UNKNOWN | {"parties": ["Gamma Ltd"], "document_type": "order"}
    document_describe(actor=cast.analyst, document=contract, **said)

    assert passing(cast, parties=["Acme Corp."]) == passing(cast, document_types=["contract"]) == set()
    assert passing(cast, parties=["gamma ltd"], document_types=["order"]) == {"contract.txt"}
    values = carried([contract])[contract.pk]
    assert values.parties == ("Gamma Ltd",)
    assert [row.value for row in values.read["party"]] == ["Acme Corp.", "Beta LLC"]
    assert facts_of(collections=[cast.alpha], user=cast.analyst).parties == ("Gamma Ltd",)


def test_fields_of_the_collection_and_their_kinds(cast: Cast, contract: Document, policy: Document) -> None:
    field_add(actor=cast.admin, collection=cast.alpha, name="Contract number")
    field_add(actor=cast.admin, collection=cast.alpha, name="Renewal", kind="date")
    given = {"contract NUMBER": "C-12", "Renewal": "2027-01-01"}
    document_describe(actor=cast.analyst, document=contract, **UNKNOWN, fields=given)
    assert passing(cast, fields={"Contract number": ["c-12"]}) == {"contract.txt"}
    assert facts_of(collections=[cast.alpha], user=cast.analyst).fields == (
        ("Contract number", ("C-12",)),
        ("Renewal", ("2027-01-01",)),
    )

    for bad, words in ({"Renewal": "soon"}, "is a date"), ({"Nothing": "x"}, "no field"):
        with pytest.raises(WorkbenchError, match=words):
            document_describe(actor=cast.analyst, document=contract, **UNKNOWN, fields=bad)
    with pytest.raises(Conflict):
        field_add(actor=cast.admin, collection=cast.alpha, name="contract number")
    with pytest.raises(WorkbenchError, match="without a colon"):
        field_add(actor=cast.admin, collection=cast.alpha, name="a:b")
    with pytest.raises(NotAllowed):
        field_add(actor=cast.analyst, collection=cast.alpha, name="Owner")

    field_remove(actor=cast.admin, collection=cast.alpha, name="Renewal")
    assert carried([contract])[contract.pk].own == {"Contract number": "C-12"}
    event = AuditEvent.objects.filter(action="collection.field_removed").get()
    assert event.before == {"field": "Renewal", "kind": "date", "documents": 1}


def test_many_at_once_all_or_nothing_each_on_record(cast: Cast, contract: Document, policy: Document) -> None:
    document_describe(actor=cast.analyst, document=contract, **(UNKNOWN | {"tags": ["Old", "kept"]}))
    changes = Changes(add_tags=["signed"], remove_tags=["old"], add_parties=["Acme"], issuer="Legal")
    both = [contract.pk, policy.pk]
    assert documents_describe(actor=cast.analyst, collection=cast.alpha, documents=both, changes=changes) == 2
    assert documents_describe(actor=cast.analyst, collection=cast.alpha, documents=both, changes=changes) == 0
    contract.refresh_from_db()
    assert (contract.tags, contract.issuer) == (["kept", "signed"], "Legal")
    event = AuditEvent.objects.of_object(contract).filter(action="document.described").latest("pk")
    assert event.after == {"tags": ["kept", "signed"], "parties": ["Acme"], "issuer": "Legal"}
    assert event.before == {"tags": ["Old", "kept"], "parties": [], "issuer": ""}

    other = make_document(collection=cast.beta, owner=cast.outsider)
    for keys, words in ([], "at least one"), ([contract.pk, other.pk], "not in the collection"):
        with pytest.raises(WorkbenchError, match=words):
            documents_describe(
                actor=cast.analyst, collection=cast.alpha, documents=keys, changes=Changes(issuer="X")
            )
    contract.refresh_from_db()
    assert contract.issuer == "Legal"


def test_reading_again_replaces_only_what_the_machine_read(cast: Cast, contract: Document) -> None:
    document_describe(actor=cast.analyst, document=contract, **UNKNOWN, parties=["Gamma"])
    DocumentField.objects.filter(document=contract, set_by__isnull=True).delete()
    changes = Changes(read_again=True)
    assert (
        documents_describe(
            actor=cast.analyst, collection=cast.alpha, documents=[contract.pk], changes=changes
        )
        == 1
    )
    values = carried([contract])[contract.pk]
    assert values.parties == ("Gamma",)
    assert sorted(values.read) == ["document_type", "effective_date", "party"]


def test_the_database_keeps_the_two_apart(cast: Cast, contract: Document) -> None:
    for values in (
        {"name": "party", "value": "A", "page_num": 1, "line_num": 1, "set_by": cast.analyst},
        {"name": "party", "value": "A"},
        {"name": "effective_date", "value": "2026-01-01", "set_by": cast.analyst},
        {"name": "", "value": "A", "set_by": cast.analyst},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            DocumentField.objects.create(document=contract, **values)


def test_a_question_is_asked_of_a_party_and_several_documents(
    cast: Cast, contract: Document, policy: Document, client_as: ClientAs
) -> None:
    document_describe(
        actor=cast.analyst, document=policy, **(UNKNOWN | {"tags": ["x"]}), parties=["Acme Corp"]
    )
    client = client_as(cast.analyst)
    asked = {"collection": "alpha", "text": "How long are access records kept?", "strategy": "offline"}
    page = client.get("/ask/?collection=alpha").content.decode()
    assert '<option value="Acme Corp">' in page
    sent = client.post("/ask/", asked | {"parties": ["Acme Corp"], "tags": ["x"]})
    run = client.get(sent.headers["Location"])
    assert run.status_code == 200
    assert "Acme Corp" in run.content.decode()
    filters = ScopeFilter(parties=["acme corp"], documents=[contract.pk, policy.pk])
    outcome = question_ask(
        actor=cast.analyst, collection=cast.alpha, text=asked["text"], strategy="offline", filters=filters
    )
    assert outcome.run.question.filters["parties"] == ["acme corp"]
    made = client.post(
        "/api/v1/questions/",
        asked | {"filters": {"parties": ["Beta LLC"], "fields": {"Owner": ["Ann"]}}},
        content_type="application/json",
    )
    assert (made.status_code, made.json()["code"]) == (409, "filters_match_nothing")


def test_pages_show_set_and_filter_them(
    cast: Cast, contract: Document, policy: Document, client_as: ClientAs
) -> None:
    field_add(actor=cast.admin, collection=cast.alpha, name="Owner")
    client = client_as(cast.analyst)
    page = client.get(contract.get_absolute_url()).content.decode()
    assert "Acme Corp" in page
    assert f'href="{contract.get_absolute_url()}?page=1#p1-l2"' in page
    own = f"own_{cast.alpha.fields.get().pk}"
    given = {"parties": "Gamma, Inc.\nDelta", "tags": "a, b", own: "Ann"}
    assert client.post(f"/documents/{contract.pk}/describe/", given).status_code == 302
    page = client.get(contract.get_absolute_url()).content.decode()
    assert "<span>Gamma, Inc.</span><br><span>Delta</span>" in page
    assert "<ins>Owner: Ann</ins>" in page

    listing = client.get("/collections/alpha/?party=Delta").content.decode()
    assert "contract.txt" not in listing  # titles are shown, and both have the same
    assert listing.count('name="document" value=') == 1
    assert client.get("/collections/alpha/?field=Owner: Ann&tag=A").content.decode().count('form="bulk"') == 1
    narrowed = client.get("/collections/alpha/?field=Owner: Ann&party=Delta").context["ask_url"]
    assert narrowed == "/ask/?collection=alpha&parties=Delta&own_fields=Owner%3A+Ann"
    assert '<option value="Delta" selected>' in client.get(narrowed).content.decode()
    bulk = {"document": [contract.pk, policy.pk], "add_tags": "both"}
    sent = client.post("/collections/alpha/describe/?tag=a", bulk)
    assert sent.headers["Location"] == "/collections/alpha/?tag=a"
    policy.refresh_from_db()
    assert policy.tags == ["both"]
    assert client.post("/collections/alpha/describe/", {"add_tags": "x"}).status_code == 422
    with CaptureQueriesContext(
        connection,
    ) as captured:
        client.get("/collections/alpha/?party=Delta&tag=a&document_type=order")
    assert len(captured) <= 15


def test_the_api_lists_filters_and_changes_them(
    cast: Cast, contract: Document, policy: Document, client_as: ClientAs
) -> None:
    api = client_as(cast.admin)
    assert api.post("/api/v1/collections/alpha/fields/add/", {"name": "Owner"}).status_code == 201
    assert api.get("/api/v1/collections/alpha/fields/").json() == [{"name": "Owner", "kind": "text"}]
    body = {"documents": [contract.pk, policy.pk], "add_parties": ["Gamma"], "fields": {"Owner": "Ann"}}
    sent = api.post("/api/v1/collections/alpha/describe-documents/", body, content_type="application/json")
    assert sent.json() == {"changed": 2}
    (found, _other) = api.get("/api/v1/documents/?party=gamma&field=Owner:Ann").json()["results"]
    assert (found["parties"], found["fields"]) == (["Gamma"], {"Owner": "Ann"})
    rows = api.get("/api/v1/documents/?document_type=contract").json()["results"]
    assert [row["name"] for row in rows] == ["contract.txt"]
    assert {"name": "party", "value": "Beta LLC", "page_num": 1, "line_num": 2} in rows[0]["read"]
    hits = api.get("/api/v1/search/?q=records&document_type=contract&field=Owner:Ann").json()["results"]
    assert {hit["document"] for hit in hits} == {contract.pk}
    assert api.get("/api/v1/search/?q=records&field=Owner").status_code == 400
    assert api.post("/api/v1/collections/alpha/fields/remove/", {"name": "owner"}).status_code == 204


def test_a_run_says_what_it_was_narrowed_to(cast: Cast, contract: Document, policy: Document) -> None:
    run = make_run(asker=cast.analyst, document=contract)
    assert run.question.document == contract
    given = ScopeFilter(parties=["Acme"], fields={"Owner": ["Ann"]})
    assert given.model_dump(mode="json", exclude_defaults=True) == {
        "parties": ["Acme"],
        "fields": {"Owner": ["Ann"]},
    }
