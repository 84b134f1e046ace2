"""The vocabulary page: what each role sees and can do there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.documents.restricting import restriction_set
from workbench.synonyms.models import DictionaryEntry, EntryStatus
from workbench.synonyms.services import entry_add

ClientAs = Callable[[User | None], Client]
URL = "/collections/alpha/vocabulary/"


def proposed(cast: Cast, **values: object) -> DictionaryEntry:
    return DictionaryEntry.objects.create(
        collection=cast.alpha, term="leaver", variant="former employee", proposed_by=cast.analyst, **values
    )


def test_a_proposal_leads_to_the_card_it_was_learned_from(
    scene: Scene, cast: Cast, client_as: ClientAs
) -> None:
    review = scene.run.reviews.get()
    entry = proposed(cast, proposed_from=review)
    body = client_as(cast.reviewer).get(URL).content.decode()
    assert f'href="{review.candidate.get_absolute_url()}"' in body
    assert scene.run.question.text in body
    assert f'action="/vocabulary/{entry.pk}/decide/"' in body


def test_what_was_learned_from_a_restricted_document_is_kept_from_others(
    scene: Scene, cast: Cast, client_as: ClientAs
) -> None:
    review = scene.run.reviews.get()
    entries = [
        proposed(cast, proposed_from=review),
        DictionaryEntry.objects.create(
            collection=cast.alpha, term="clerk", variant="former scribe", proposed_by=cast.analyst,
            proposed_from=review, status="approved", decided_by=cast.admin, decided_at=Now(),
        ),
        DictionaryEntry.objects.create(
            collection=cast.alpha, term="reader", variant="former monk", proposed_by=cast.analyst,
            proposed_from=review, status="rejected", decided_by=cast.admin, decided_at=Now(),
        ),
    ]  # fmt: skip
    restriction_set(actor=cast.admin, document=scene.document, readers=[], reason="An investigation.")
    told = {}
    for person in (cast.reviewer, cast.admin):
        client = client_as(person)
        page, table = client.get(URL).text, client.get(reverse("vocabulary:export", args=["alpha"])).text
        listed = [row["id"] for row in client.get("/api/v1/vocabulary/").json()["results"]]
        told[person] = [
            (entry.variant in page, entry.variant in table, entry.pk in listed) for entry in entries
        ]
        assert (scene.run.question.text in page) is (person == cast.admin)
        assert (review.candidate.get_absolute_url() in page) is (person == cast.admin)
    assert told[cast.admin] == [(True, True, True)] * 3
    assert told[cast.reviewer] == [(False, False, False), (True, True, True), (False, False, False)]
    for address in (f"/vocabulary/{entries[0].pk}/decide/", f"/api/v1/vocabulary/{entries[0].pk}/approve/"):
        assert client_as(cast.reviewer).post(address, {"decision": "approve"}).status_code == 404
    assert client_as(cast.admin).post(address).status_code == 200


def test_an_import_tells_nothing_of_a_hidden_pair(scene: Scene, cast: Cast, client_as: ClientAs) -> None:
    entry = proposed(cast, proposed_from=scene.run.reviews.get())
    restriction_set(actor=cast.admin, document=scene.document, readers=[], reason="An investigation.")
    content = f"term,variant\n{entry.variant},{entry.term}\nscroll,parchment\n".encode()
    response = client_as(cast.reviewer).post(f"{URL}import/", {"file": SimpleUploadedFile("v.csv", content)})
    assert "2 pairs added. 0 were in use already. 0 rows were refused." in response.text
    entry.refresh_from_db()
    assert entry.status == EntryStatus.APPROVED


def test_the_origin_of_a_pair_is_withheld_in_the_api(scene: Scene, cast: Cast, client_as: ClientAs) -> None:
    review = scene.run.reviews.get()
    entry = proposed(cast, proposed_from=review)
    reviewer, admin = client_as(cast.reviewer), client_as(cast.admin)
    address = f"/api/v1/vocabulary/{entry.pk}/"
    assert reviewer.get(address).json()["proposed_from"] == review.pk
    assert reviewer.post(f"{address}approve/").json()["proposed_from"] == review.pk
    restriction_set(actor=cast.admin, document=scene.document, readers=[], reason="An investigation.")
    assert reviewer.get(address).json()["proposed_from"] is None
    assert reviewer.post(f"{address}reject/").json()["proposed_from"] is None
    assert admin.get(address).json()["proposed_from"] == review.pk


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_reviewer_decides_on_the_page(cast: Cast, client_as: ClientAs, decision: str) -> None:
    entry = proposed(cast)
    response = client_as(cast.reviewer).post(f"/vocabulary/{entry.pk}/decide/", {"decision": decision})
    assert (response.status_code, response["Location"]) == (302, URL)
    entry.refresh_from_db()
    assert entry.status == {"approve": EntryStatus.APPROVED, "reject": EntryStatus.REJECTED}[decision]


@pytest.mark.parametrize("name", ["analyst", "annotator", "auditor"])
def test_others_read_and_find_no_forms(cast: Cast, client_as: ClientAs, name: str) -> None:
    entry = proposed(cast)
    client = client_as(cast.members[name])
    body = client.get(URL).content.decode()
    assert "leaver = former employee" in body
    assert f"/vocabulary/{entry.pk}/decide/" not in body
    assert "vocabulary/import/" not in body
    client.post(f"/vocabulary/{entry.pk}/decide/", {"decision": "approve"})
    assert (
        client.post(URL, {"term": "a1", "variant": "b2", "kind": "alias", "language": "en"}).status_code
        == 422
    )
    assert DictionaryEntry.objects.get().status == EntryStatus.PROPOSED


def test_a_pair_is_added_and_a_refused_one_stays_in_the_form(cast: Cast, client_as: ClientAs) -> None:
    client = client_as(cast.admin)
    fields = {"term": "SLA", "variant": "service level", "kind": "alias", "language": "en"}
    assert client.post(URL, fields).status_code == 302
    response = client.post(URL, fields)
    assert response.status_code == 422
    assert "is in use already" in response.content.decode()
    assert 'value="service level"' in response.content.decode()


def test_a_file_is_reported_row_by_row(cast: Cast, client_as: ClientAs) -> None:
    content = b"term,variant\nSLA,service level\nthe,<b>of</b>\n"
    response = client_as(cast.admin).post(f"{URL}import/", {"file": SimpleUploadedFile("v.csv", content)})
    body = response.content.decode()
    assert response.status_code == 200
    assert "1 pair added." in body
    assert "1 row was refused." in body
    assert "the = &lt;b&gt;of&lt;/b&gt;" in body
    refused = client_as(cast.admin).post(f"{URL}import/", {"file": SimpleUploadedFile("v.csv", b"\xff\xff")})
    assert refused.status_code == 422
    assert "UTF-8" in refused.content.decode()


def test_the_export_is_a_file(cast: Cast, client_as: ClientAs) -> None:
    entry_add(actor=cast.admin, collection=cast.alpha, term="SLA", variant="service level")
    response = client_as(cast.auditor).get(f"{URL}export.csv")
    assert "attachment" in response["Content-Disposition"]
    assert response.content.decode("utf-8-sig").splitlines()[1] == "SLA,service level,alias,en,approved"


def test_pairs_in_use_are_found_and_turned_over(cast: Cast, client_as: ClientAs) -> None:
    for number in range(102):
        entry_add(
            actor=cast.admin, collection=cast.alpha, term=f"term{number:03}", variant=f"other{number:03}"
        )
    client = client_as(cast.analyst)
    first = client.get(URL).content.decode()
    assert "term099" in first
    assert "term100" not in first
    assert "term101" in client.get(URL, {"after": "100"}).content.decode()
    found = client.get(URL, {"q": "other101"}).content.decode()
    assert "term101" in found
    assert "term000" not in found
