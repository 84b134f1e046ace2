"""The search page and its address in the API."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.scene import make_document, make_run
from workbench.accounts.models import User
from workbench.api.tokens import token_create
from workbench.documents.models import Document, DocumentStatus

ClientAs = Callable[[User | None], Client]
Papers = dict[str, Document]
PAGE, API = "/search/", "/api/v1/search/"
HUGE = 100_000
HOSTILE = [
    "x" * HUGE,
    "a " * (HUGE // 2),
    '"' * HUGE,
    "\x00" * HUGE,
    "(" * HUGE,
    "é" * HUGE,
    "\u202e\ud83d\ude00"[0] * HUGE,
]
ODD = [
    "' OR 1=1 --",
    "%_\\",
    "{{ q }}",
    "+a -b AND NOT (c)",
    "title:x^9~*",
    "aaaaaaaaaa" * 30,
    "a\x00b payment",
    "\u202epayment",
    "<script>alert(1)</script>",
]


def page(client: Client, **query: object) -> Any:
    return client.get(PAGE, query)


class TestPage:
    def test_before_anything_is_asked(self, cast: Cast, client_as: ClientAs, papers: Papers) -> None:
        response = page(client_as(cast.analyst))
        assert response.status_code == 200
        assert "Nothing searched yet" in response.content.decode()
        assert "message--error" not in response.content.decode()

    def test_a_hit_leads_to_its_place_and_to_a_question(
        self, cast: Cast, client_as: ClientAs, papers: Papers
    ) -> None:
        client = client_as(cast.analyst)
        response = page(client, q='"thirty days of receipt"')
        text = response.content.decode()
        (hit,) = response.context["hits"]
        key = papers["contract"].pk
        assert hit["url"] == f"/documents/{key}/?page=1#p1-l6"
        assert "page 1, line 6" in text
        assert "<mark>thirty days of receipt</mark>" in text
        assert 'id="p1-l6"' in client.get(hit["url"]).content.decode()
        asked = client.get(hit["ask_url"])
        form = asked.context["form"]
        assert form["text"].value() == '"thirty days of receipt"'
        assert (form["collection"].value(), form["document"].value()) == ("alpha", [str(key)])

    def test_only_who_may_ask_is_offered_to(self, cast: Cast, client_as: ClientAs, papers: Papers) -> None:
        for person, may in ((cast.reviewer, True), (cast.annotator, False), (cast.auditor, False)):
            hits = page(client_as(person), q="interest").context["hits"]
            assert [bool(hit["ask_url"]) for hit in hits] == [may]

    def test_what_was_typed_and_chosen_stays(self, cast: Cast, client_as: ClientAs, papers: Papers) -> None:
        response = page(client_as(cast.analyst), q="payment", collection="alpha", tag="cloud", match="any")
        fields = response.context["filters"]
        values = {field["name"]: field["value"] for field in [*fields["fields"], *fields["more"]]}
        assert (values["q"], values["collection"], values["tag"]) == ("payment", "alpha", "cloud")
        assert fields["more_is_open"]
        assert [hit["title"] for hit in response.context["hits"]] == ["Contract"]

    def test_twenty_on_a_page_and_a_way_on(self, cast: Cast, client_as: ClientAs, papers: Papers) -> None:
        for number in range(25):
            text = {"Part": [f"Article {number} mentions the gadget."]}
            make_document(collection=cast.alpha, owner=cast.admin, name=f"n{number}.txt", text=text)
        client = client_as(cast.analyst)
        first = page(client, q="gadget")
        assert len(first.context["hits"]) == 20
        assert "Passages 1–20" in first.content.decode()
        second = client.get(first.context["pager"]["next_url"])
        assert len(second.context["hits"]) == 5
        assert "Passages 21–25" in second.content.decode()
        assert not second.context["pager"]["next_url"]
        assert client.get(second.context["pager"]["previous_url"]).context["hits"] == first.context["hits"]
        beyond = page(client, q="gadget", after=500)
        assert "The list ended before this page." in beyond.content.decode()

    def test_nothing_found_says_what_to_do(self, cast: Cast, client_as: ClientAs, papers: Papers) -> None:
        client = client_as(cast.analyst)
        none = page(client, q="payment zebra", collection="alpha")
        assert "These documents do not contain: zebra." in none.content.decode()
        loosened = client.get(none.context["any_url"])
        assert {hit["title"] for hit in loosened.context["hits"]} == {"Contract", "Policy"}
        assert none.context["everywhere_url"] == "/search/?q=payment+zebra"
        apart = page(client, q="hold interest")
        assert "No passage contains all of these words." in apart.content.decode()
        outside = page(client, q="payment", tag="none").content.decode()
        assert "No document matches these filters." in outside

    @pytest.mark.parametrize(
        ("query", "said"),
        [
            ({"q": ""}, "Type a word or a number"),
            ({"q": "***"}, "Type a word or a number"),
            ({"q": "x" * 301}, "At most 300 characters"),
            ({"q": " ".join(map(str, range(21)))}, "At most 20 words"),
            ({"q": "a", "effective_from": "soon"}, "Effective from"),
            ({"q": "a", "effective_from": "2024-01-02", "effective_to": "2024-01-01"}, "after the last"),
            ({"q": "a", "match": "most"}, "Passages hold"),
            ({"q": "a", "after": "-1"}, "greater than or equal to 0"),
            ({"q": "a", "after": "1001"}, "less than or equal to 1000"),
            ({"q": "a", "document": "x"}, "whole number"),
        ],
    )
    def test_bad_input_is_told(
        self, cast: Cast, client_as: ClientAs, papers: Papers, query: dict[str, str], said: str
    ) -> None:
        for address in (PAGE, API):
            if address == API and "after" in query:
                continue  # a parameter of the page alone
            response = client_as(cast.analyst).get(address, query)
            assert response.status_code == 400
            assert said in html.unescape(response.content.decode()) or address == API
        assert said in html.unescape(page(client_as(cast.analyst), **query).content.decode())

    def test_a_document_of_another_collection_or_not_ready_is_told(
        self, cast: Cast, client_as: ClientAs, papers: Papers
    ) -> None:
        cast.analyst.memberships.create(collection=cast.beta, role="auditor")
        client = client_as(cast.analyst)
        elsewhere = page(client, q="a", collection="beta", document=papers["policy"].pk)
        assert "in another collection" in elsewhere.content.decode()
        Document.objects.filter(pk=papers["policy"].pk).update(status=DocumentStatus.CANCELLED)
        waiting = page(client, q="a", document=papers["policy"].pk)
        assert (waiting.status_code, "it is not ready" in waiting.content.decode()) == (400, True)

    @pytest.mark.parametrize("address", [PAGE, API])
    @pytest.mark.parametrize("q", ["payment", "", "x" * 301])
    def test_what_is_foreign_does_not_exist(
        self, cast: Cast, client_as: ClientAs, papers: Papers, address: str, q: str
    ) -> None:
        client = client_as(cast.analyst)
        for named in ({"collection": "beta"}, {"document": papers["secret"].pk}):
            foreign = client.get(address, {"q": q} | named)
            unknown = client.get(address, {"q": q} | dict.fromkeys(named, "999999999"))
            assert (foreign.status_code, unknown.status_code) == (404, 404)
        shown = page(client, q="payment").content.decode()
        assert "Secret" not in shown
        assert "Beta" not in shown

    @pytest.mark.parametrize("address", [PAGE, API])
    @pytest.mark.parametrize("q", HOSTILE, ids=lambda q: ascii(q[:2]))
    def test_huge_queries_are_refused_at_once(
        self, cast: Cast, client_as: ClientAs, papers: Papers, address: str, q: str
    ) -> None:
        assert client_as(cast.analyst).get(address, {"q": q}).status_code == 400

    @pytest.mark.parametrize("address", [PAGE, API])
    @pytest.mark.parametrize("name", ["section", "tag", "document_type", "collection", "document"])
    def test_huge_filters_are_refused_too(
        self, cast: Cast, client_as: ClientAs, papers: Papers, address: str, name: str
    ) -> None:
        given = {"q": "payment", name: "9" * HUGE}
        assert client_as(cast.analyst).get(address, given).status_code == 400

    @pytest.mark.parametrize("q", ODD, ids=range(len(ODD)))
    def test_odd_queries_are_only_words(
        self, cast: Cast, client_as: ClientAs, papers: Papers, q: str
    ) -> None:
        client = client_as(cast.analyst)
        for match in ("all", "any"):
            response = client.get(PAGE, {"q": q, "match": match})
            assert response.status_code in {200, 400}
            assert "<script>alert" not in response.content.decode()
            assert client.get(API, {"q": q, "match": match}).status_code == response.status_code

    def test_the_page_needs_few_queries_however_much_is_found(
        self, cast: Cast, client_as: ClientAs, papers: Papers, django_assert_max_num_queries: Any
    ) -> None:
        for number in range(22):
            make_document(collection=cast.alpha, owner=cast.admin, name=f"copy-{number}.txt")
        client = client_as(cast.analyst)
        page(client, q="payment")
        with django_assert_max_num_queries(15):
            assert len(page(client, q="payment", section="retention").context["hits"]) == 20

    def test_nothing_of_runs_shows(self, cast: Cast, client_as: ClientAs, papers: Papers) -> None:
        client = client_as(cast.analyst)
        before = [self._main(client), client.get(API, {"q": "access records"}).json()]
        make_run(asker=cast.analyst, document=papers["policy"])
        assert [self._main(client), client.get(API, {"q": "access records"}).json()] == before

    @staticmethod
    def _main(client: Client) -> str:
        found = re.search("<main.*</main>", page(client, q="access records").content.decode(), re.DOTALL)
        assert found
        return found[0]


class TestApi:
    def test_a_hit(self, cast: Cast, client_as: ClientAs, papers: Papers) -> None:
        (hit,) = client_as(cast.analyst).get(API, {"q": '"of receipt"'}).json()["results"]
        text = hit.pop("text")
        (mark,) = hit.pop("marks")
        assert text[mark["start"] : mark["end"]] == "of receipt"
        key = papers["contract"].pk
        assert hit == {
            "collection": "alpha",
            "document": key,
            "title": "Contract",
            "version": 1,
            "section": "2 Payment",
            "page_start": 1,
            "line_start": 6,
            "page_end": 1,
            "line_end": 6,
            "url": f"/documents/{key}/?page=1#p1-l6",
        }

    def test_pages(self, cast: Cast, client_as: ClientAs, papers: Papers) -> None:
        client = client_as(cast.analyst)
        whole = client.get(API, {"q": "records"}).json()
        assert (whole["next"], whole["previous"]) == (None, None)
        seen, address, steps = [], f"{API}?q=records&page_size=1", 0
        while address:
            answer = client.get(address).json()
            seen += answer["results"]
            address, last = answer["next"], answer
            steps += 1
        assert seen == whole["results"]
        assert steps == len(seen) > 2
        assert client.get(last["previous"]).json()["results"] == [seen[-2]]
        assert parse_qs(urlsplit(last["previous"]).query)["q"] == ["records"]

    @pytest.mark.parametrize("cursor", ["x", "bz0tNQ==", "bz05OTk5OTk5OTk="])
    def test_a_cursor_that_is_none(
        self, cast: Cast, client_as: ClientAs, papers: Papers, cursor: str
    ) -> None:
        answer = client_as(cast.analyst).get(API, {"q": "records", "cursor": cursor})
        assert answer.status_code in {404, 200}
        assert not answer.json().get("results")

    def test_unknown_parameters_and_no_words_are_refused(
        self, cast: Cast, client_as: ClientAs, papers: Papers
    ) -> None:
        client = client_as(cast.analyst)
        slip = client.get(API, {"q": "records", "colection": "alpha"})
        assert (slip.status_code, list(slip.json()["errors"])) == (400, ["colection"])
        assert client.get(API, {"q": "records", "after": "1"}).status_code == 400
        assert list(client.get(API).json()["errors"]) == ["q"]

    def test_as_much_as_its_token_may_see(self, cast: Cast, papers: Papers) -> None:
        def found(scope: str) -> int:
            _, key = token_create(actor=cast.analyst, name=scope, scopes=[scope], days=5)
            answer = Client().get(API, {"q": "interest"}, headers={"Authorization": f"Bearer {key}"})
            assert answer.status_code == 200
            return len(answer.json()["results"])

        assert (found("view"), found("ask")) == (1, 0)

    def test_the_page_and_the_api_find_the_same(
        self, cast: Cast, client_as: ClientAs, papers: Papers
    ) -> None:
        client = client_as(cast.analyst)
        query = {"q": "payment", "match": "any", "section": "payment"}
        shown = [hit["url"] for hit in client.get(reverse("search:search"), query).context["hits"]]
        assert [
            hit["url"] for hit in client.get(reverse("api:search-list"), query).json()["results"]
        ] == shown
        assert shown
