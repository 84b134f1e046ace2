"""A question narrowed to documents with certain facts, and to certain search methods."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.scene import make_document
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.documents.describing import document_describe
from workbench.documents.models import Document
from workbench.documents.narrowing import ScopeFilter
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import Run
from workbench.runs.services import question_ask

pytestmark = pytest.mark.usefixtures("here")

ClientAs = Callable[[User | None], Client]
ASKED = "How long are access records kept?"
UNKNOWN: dict[str, Any] = {
    "document_type": "",
    "issuer": "",
    "jurisdiction": "",
    "effective_date": None,
    "tags": [],
}
FACTS: dict[str, dict[str, Any]] = {
    "contract.txt": {
        "document_type": "contract",
        "jurisdiction": "Spain",
        "effective_date": dt.date(2024, 5, 1),
        "tags": ["cloud", "2024"],
    },
    "policy.txt": {
        "document_type": "Policy",
        "jurisdiction": "France",
        "effective_date": dt.date(2020, 1, 1),
    },
    "unknown.txt": {},
}


@pytest.fixture
def documents(cast: Cast) -> dict[str, Document]:
    made = {name: make_document(collection=cast.alpha, owner=cast.analyst, name=name) for name in FACTS}
    return {
        name: document_describe(actor=cast.analyst, document=document, **(UNKNOWN | FACTS[name]))
        for name, document in made.items()
    }


def carried_out(run: Run) -> Run:
    for stage in (run_detect, run_arbitrate, run_answer):
        stage(run_id=run.pk)
    return Run.objects.select_related("question__collection", "collection").get(pk=run.pk)


def ask(cast: Cast, **options: Any) -> Run:
    given = {"collection": cast.alpha, "text": ASKED, "strategy": "offline"} | options
    outcome = question_ask(actor=cast.analyst, **given)
    return outcome.run if outcome.is_cached else carried_out(outcome.run)


def searched(run: Run) -> set[str]:
    return {row.document.name for row in run.candidates.select_related("document")}


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"document_types": ["contract"]}, {"contract.txt"}),
        ({"document_types": ["POLICY"]}, {"policy.txt"}),
        ({"document_types": ["contract", "policy"]}, {"contract.txt", "policy.txt"}),
        ({"jurisdictions": ["spain"]}, {"contract.txt"}),
        ({"jurisdictions": ["spain", "france"], "document_types": ["policy"]}, {"policy.txt"}),
        ({"tags": ["Cloud", "nothing"]}, {"contract.txt"}),
        ({"languages": ["en"], "tags": ["2024"]}, {"contract.txt"}),
        ({"effective_from": "2024-05-01"}, {"contract.txt"}),
        ({"effective_to": "2023-12-31"}, {"policy.txt"}),
        ({}, set(FACTS)),
    ],
)
def test_only_the_documents_that_pass_are_searched(
    given: dict[str, Any], names: set[str], cast: Cast, documents: dict[str, Document]
) -> None:
    run = ask(cast, filters=ScopeFilter(**given))
    assert searched(run) == names
    assert all(row.candidate_id.startswith(f"d{row.document_id}:") for row in run.candidates.all())


def test_filters_are_part_of_the_question(cast: Cast, documents: dict[str, Document]) -> None:
    spain = ScopeFilter(jurisdictions=["Spain"])
    first = ask(cast, filters=spain)
    assert ask(cast, filters=spain).pk == first.pk
    assert ask(cast).pk != first.pk
    assert ask(cast, filters=ScopeFilter(jurisdictions=["France"])).pk != first.pk


def test_a_document_described_anew_is_asked_anew(cast: Cast, documents: dict[str, Document]) -> None:
    spain = ScopeFilter(jurisdictions=["Spain"])
    first = ask(cast, filters=spain)
    facts = UNKNOWN | {"jurisdiction": "Spain"}
    document_describe(actor=cast.analyst, document=documents["unknown.txt"], **facts)
    again = ask(cast, filters=spain)
    assert again.pk != first.pk
    assert searched(again) == {"contract.txt", "unknown.txt"}


def test_filters_that_let_nothing_through_are_refused(cast: Cast, documents: dict[str, Document]) -> None:
    with pytest.raises(Conflict, match="No document matches"):
        ask(cast, filters=ScopeFilter(jurisdictions=["Peru"]))
    with pytest.raises(WorkbenchError, match="a document or filters"):
        ask(cast, document=documents["policy.txt"], filters=ScopeFilter(tags=["cloud"]))


def test_only_the_methods_asked_for_search(cast: Cast, documents: dict[str, Document]) -> None:
    run = ask(cast, methods=["toc", "bm25"])
    assert run.methods_run == ["toc", "bm25"]
    assert run.skipped_reasons["embedding"] == "not among the forced methods"
    assert ask(cast).pk != run.pk
    with pytest.raises(WorkbenchError, match="no search method"):
        ask(cast, methods=["crystal ball"])


def test_the_form_offers_what_documents_carry(
    cast: Cast, documents: dict[str, Document], client_as: ClientAs
) -> None:
    client = client_as(cast.analyst)
    page = client.get("/ask/?collection=alpha").content.decode()
    assert 'value="Spain"' in page
    assert 'name="languages"' not in page  # one language is no choice
    Document.objects.filter(pk=documents["policy.txt"].pk).update(
        language="es", title="The Policy of Records"
    )
    page = client.get("/ask/?collection=alpha").content.decode()
    assert '<option value="es">Spanish</option>' in " ".join(page.split())  # never the code
    sent = {
        "collection": "alpha",
        "text": ASKED,
        "strategy": "offline",
        "jurisdictions": ["Spain"],
        "methods": ["bm25"],
    }
    answer = client.post("/ask/?collection=alpha", sent)
    assert answer.status_code == 302
    run = carried_out(Run.objects.latest("pk"))
    assert (searched(run), run.methods_run) == ({"contract.txt"}, ["bm25"])
    shown = client.get(run.get_absolute_url()).content.decode()
    assert "(Spain)" in shown
    assert "jurisdictions=Spain" in shown
    shown = client.get(ask(cast).get_absolute_url()).content.decode()
    assert "The Policy of Records" in shown  # cards and citations name documents as lists do
    assert "policy.txt" not in shown
    refused = client.post("/ask/?collection=alpha", sent | {"methods": ["magic"]})
    assert refused.status_code == 200


def test_the_api_takes_both_and_says_them_back(
    cast: Cast, documents: dict[str, Document], client_as: ClientAs
) -> None:
    client = client_as(cast.analyst)

    def post(**given: Any) -> Any:
        body = {"collection": "alpha", "text": ASKED, "strategy": "offline"} | given
        return client.post("/api/v1/questions/", body, content_type="application/json")

    answer = post(filters={"tags": ["cloud"], "effective_from": "2024-01-01"}, methods=["embedding"])
    assert answer.status_code == 201, answer.content
    run = answer.json()["run"]
    assert (run["filters"], run["methods"]) == (
        {"tags": ["cloud"], "effective_from": "2024-01-01"},
        ["embedding"],
    )
    assert searched(carried_out(Run.objects.get(pk=run["id"]))) == {"contract.txt"}
    assert post(methods=["magic"]).status_code == 400
    assert post(filters={"effective_from": "2025-01-01", "effective_to": "2024-01-01"}).status_code == 400
    assert post(filters={"tags": ["nothing"]}).json()["code"] == "filters_match_nothing"


def test_the_command_takes_both(
    cast: Cast, documents: dict[str, Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "workbench.review.management.commands.ask.run_wait",
        lambda *, run_id: carried_out(Run.objects.get(pk=run_id)),
    )
    out = StringIO()
    flags = ["--jurisdiction", "Spain", "--methods", "bm25,embedding", "--strategy", "offline", "--json"]
    call_command("ask", ASKED, "--collection", "alpha", *flags, stdout=out)
    value = json.loads(out.getvalue())
    assert value["audit"]["methods_run"] == ["bm25", "embedding"]
    assert {row["document_name"] for row in value["audit"]["candidates"]} == {"contract.txt"}
    with pytest.raises(CommandError, match="no search method"):
        call_command("ask", ASKED, "--collection", "alpha", "--methods", "magic")
    with pytest.raises(CommandError, match="date"):
        call_command("ask", ASKED, "--collection", "alpha", "--effective-from", "yesterday")


class TestDescribing:
    def test_it_is_on_record_and_on_the_page(
        self, cast: Cast, documents: dict[str, Document], client_as: ClientAs
    ) -> None:
        document = documents["unknown.txt"]
        client = client_as(cast.analyst)
        given = {"document_type": "contract", "tags": "cloud, data", "effective_date": "2025-02-03"}
        assert client.post(f"/documents/{document.pk}/describe/", given).status_code == 302
        document.refresh_from_db()
        assert (document.document_type, document.tags) == ("contract", ["cloud", "data"])
        event = AuditEvent.objects.filter(action="document.described").latest("id")
        assert event.after == {
            "document_type": "contract",
            "tags": ["cloud", "data"],
            "effective_date": "2025-02-03",
        }
        assert "cloud, data" in client.get(document.get_absolute_url()).content.decode()
        bad = client.post(f"/documents/{document.pk}/describe/", {"effective_date": "soon"})
        assert bad.status_code == 422

    def test_the_api_does_the_same(
        self, cast: Cast, documents: dict[str, Document], client_as: ClientAs
    ) -> None:
        address = f"/api/v1/documents/{documents['unknown.txt'].pk}/describe/"
        body = {"document_type": "policy", "tags": ["a"], "effective_date": "2025-02-03"}
        answer = client_as(cast.analyst).post(address, body, content_type="application/json")
        assert answer.status_code == 200, answer.content
        assert (answer.json()["document_type"], answer.json()["tags"]) == ("policy", ["a"])

    def test_a_reviewer_describes_nothing(self, cast: Cast, documents: dict[str, Document]) -> None:
        with pytest.raises(NotAllowed):
            document_describe(actor=cast.reviewer, document=documents["unknown.txt"], **UNKNOWN)

    def test_too_many_tags_are_refused(self, cast: Cast, documents: dict[str, Document]) -> None:
        tags = [f"t{number}" for number in range(21)]
        with pytest.raises(WorkbenchError, match="At most 20 tags"):
            document_describe(
                actor=cast.analyst, document=documents["unknown.txt"], **(UNKNOWN | {"tags": tags})
            )
