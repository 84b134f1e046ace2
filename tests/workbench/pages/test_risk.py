"""The page of accepted risk: each bar by its effect, what is missing, and the acts of an admin."""

from __future__ import annotations

import re
from typing import Any

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import ClientAs, queries_of
from tests.workbench.scene import Scene
from workbench.collection_settings.models import BarProposal, CollectionBar
from workbench.documents.embedding import active_space
from workbench.operations.risk_page import effect_rows

URL = "/collections/alpha/settings/risk/"

WAYS = [
    {"bar": 6.0, "seen": 6.0, "lost": 0.15, "bound": 0.18, "cards": 4.0},
    {"bar": 12.0, "seen": 12.0, "lost": 0.1, "bound": 0.13, "cards": 7.5},
    {"bar": 24.0, "seen": 24.0, "lost": 0.02, "bound": 0.048, "cards": 16.5},
    {"bar": 200.0, "seen": 200.0, "lost": 0.0, "bound": 0.025, "cards": 120.0},
]


def proposal(cast: Cast, **changes: Any) -> BarProposal:
    given = {
        "collection": cast.alpha, "decides": "discard", "promised": 0.05, "state": "ready", "measure": "nearest",
        "space": active_space().name, "reranker": "rules", "questions": 41, "groups": 39, "needed": 19, "bar": 24.0,
        "in_use": 12.0, "ways": WAYS, "requested_by": cast.admin,
    }  # fmt: skip
    return BarProposal.objects.create(**(given | changes))


def words_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


class TestReading:
    def test_the_effect_is_said_in_words(self, cast: Cast, client_as: ClientAs) -> None:
        proposal(cast)
        page = words_of(client_as(cast.auditor).get(URL).content.decode())
        assert "at most 24 of the nearest passages are kept for people" in page
        assert "People then read 16.5 passages a question." in page
        assert (
            "Compared with now, people read 9 more passages a question, and 8 % fewer questions lose evidence."
            in page
        )
        assert "It rests on 39 decided questions. Needed at least: 19." in page

    def test_the_curve_has_axes_with_units_and_a_table_behind_it(
        self, cast: Cast, client_as: ClientAs
    ) -> None:
        proposal(cast)
        page = client_as(cast.auditor).get(URL).content.decode()
        assert page.count("plot__dot plot__dot--chosen") == page.count("plot__dot plot__dot--current") == 2
        assert "passages people read, a question" in page
        assert ">20 %</text>" in page
        assert "style=" not in page.split('class="plot plot--chart"')[1].split("</figure>")[0]
        rows = re.findall(r"<tr><th scope=\"row\">(\d+|all)", page)
        assert rows == ["6", "12", "24", "all"]

    def test_too_few_questions_say_how_many_are_missing(self, cast: Cast, client_as: ClientAs) -> None:
        proposal(cast, groups=7, questions=7, bar=None)
        page = words_of(client_as(cast.admin).get(URL).content.decode())
        assert "12 more questions must be decided blind before this can be promised." in page
        assert "The shipped default stays." in page
        assert "Apply" not in page

    def test_without_anything_what_ships_is_named(self, cast: Cast, client_as: ClientAs) -> None:
        page = words_of(client_as(cast.admin).get(URL).content.decode())
        assert (
            "The shipped default is in use: at most 12 of the nearest passages are kept for people." in page
        )
        assert page.count("Compute") == 2

    def test_what_was_computed_for_another_model_is_not_applied(
        self, cast: Cast, client_as: ClientAs
    ) -> None:
        proposal(cast, reranker="v3:abc", measure="model", bar=0.2, ways=[])
        BarProposal.objects.update(bar=None)
        page = words_of(client_as(cast.admin).get(URL).content.decode())
        assert "Another model serves by now. Compute again before you use this." in page

    def test_more_and_fewer_are_told_apart(self, cast: Cast) -> None:
        fewer, here, more, _all = effect_rows(proposal(cast), current=12.0)
        assert (
            fewer.words == "people read 3.5 fewer passages a question, and 5 % more questions lose evidence."
        )
        assert here.words == ""
        assert more.is_chosen

    def test_few_queries(self, cast: Cast, client_as: ClientAs) -> None:
        for _ in range(3):
            proposal(cast)
            proposal(
                cast,
                decides="accept",
                measure="estimate",
                bar=0.4,
                ways=[WAYS[0] | {"bar": 0.4, "seen": 0.4}],
            )
        assert queries_of(client_as(cast.admin), URL) <= 20


class TestActs:
    def test_an_admin_states_computes_applies_and_goes_back(
        self, cast: Cast, client_as: ClientAs, scene: Scene
    ) -> None:
        client = client_as(cast.admin)
        asked = client.post(f"{URL}compute/", {"decides": "discard", "promised": "5"}, follow=True)
        assert "Computing" in asked.content.decode()
        assert 'hx-trigger="every 2s"' in asked.content.decode()
        waiting = BarProposal.objects.get()
        assert (waiting.promised, waiting.state) == (0.05, "waiting")
        waiting.delete()

        ready = proposal(cast)
        body = {"proposal": ready.pk, "seen_revision": 0, "reason": "Measured."}
        page = words_of(client.post(f"{URL}apply/", body, follow=True).content.decode())
        assert "In use: at most 24 of the nearest passages are kept for people." in page
        assert "It keeps the promise of at most 5 %, based on 39 decided questions." in page

        bar = CollectionBar.objects.get()
        client.post(f"{URL}remove/", {"bar": bar.pk, "seen_revision": 1, "reason": "No more."})
        assert not CollectionBar.objects.exists()

    def test_a_share_out_of_range_is_named(self, cast: Cast, client_as: ClientAs) -> None:
        sent = {"decides": "discard", "promised": "80"}
        page = client_as(cast.admin).post(f"{URL}compute/", sent, follow=True)
        assert "less than or equal to 50" in page.content.decode()
        assert not BarProposal.objects.exists()

    def test_a_ready_page_that_polled_is_reloaded(self, cast: Cast, client_as: ClientAs) -> None:
        proposal(cast)
        answer = client_as(cast.admin).get(URL, headers={"HX-Request": "true"})
        assert answer.headers["HX-Refresh"] == "true"
        assert "<html" not in answer.content.decode()

    def test_an_auditor_reads_and_does_nothing(self, cast: Cast, client_as: ClientAs) -> None:
        ready = proposal(cast)
        client = client_as(cast.auditor)
        page = words_of(client.get(URL).content.decode())
        assert "Apply" not in page
        assert "Compute" not in page.replace("Computed on", "")
        body = {"proposal": ready.pk, "seen_revision": 0, "reason": "Measured."}
        assert client.post(f"{URL}apply/", body).status_code == 404
        assert not CollectionBar.objects.exists()


def test_the_trust_page_tells_the_promise(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    ready = proposal(cast)
    body = {"proposal": ready.pk, "seen_revision": 0, "reason": "Measured."}
    client_as(cast.admin).post(f"{URL}apply/", body)
    page = words_of(client_as(cast.auditor).get("/trust/?collection=alpha").content.decode())
    assert (
        "promised that at most 5 % of its questions lose their evidence unseen, at 16.5 cards a question"
        in page
    )
