"""The labeling pages: the desk without scripts, blindness, who sees what, and how many queries a page takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.labeling.makers import annotators, make_pairs, make_project
from tests.workbench.scene import make_run
from workbench.accounts.models import User
from workbench.documents.models import Document
from workbench.labeling.adjudication import pair_adjudicate
from workbench.labeling.models import GuidelineVersion, Label, Pair, PairState, Project, Slot, SlotState
from workbench.labeling.supply import pairs_add_from_runs
from workbench.labeling.work import slot_answer, slot_claim_next, slot_pass

pytestmark = pytest.mark.usefixtures("here")
ClientAs = Callable[[User | None], Client]
HTMX = {"HX-Request": "true"}


@pytest.fixture
def project(cast: Cast) -> Project:
    return make_project(cast)


def dispute(cast: Cast, project: Project) -> Pair:
    (pair,) = make_pairs(project, 1, places=2)
    for person, role in zip([cast.annotator, *annotators(cast, 1)], ["primary", "discarded"], strict=True):
        slot = slot_claim_next(actor=person, project=project)
        assert slot is not None
        slot_answer(actor=person, slot=slot, role=role)
    return pair


class TestDesk:
    def test_a_day_without_scripts(self, cast: Cast, project: Project, client_as: ClientAs) -> None:
        make_pairs(project, 4)
        client = client_as(cast.annotator)
        work = reverse("labeling:work", args=[project.pk])

        page = client.post(work, follow=True)
        first = page.context["slot"]
        page = client.post(reverse("labeling:answer", args=[first.pk]), {"role": "primary"}, follow=True)
        second = page.context["slot"]
        page = client.post(reverse("labeling:pass", args=[second.pk]), {"kind": "unsure"}, follow=True)
        third = page.context["slot"]
        page = client.post(reverse("labeling:undo", args=[project.pk]), follow=True)

        assert page.redirect_chain[-1][0] == work
        assert page.context["slot"].pk == second.pk
        assert len({first.pk, second.pk, third.pk}) == 3
        assert [label.role for label in Label.objects.all()] == ["primary"]
        assert client.get(work).context["slot"].pk == second.pk

    def test_an_answer_by_htmx_brings_the_next_pair_and_says_it(
        self, cast: Cast, project: Project, client_as: ClientAs
    ) -> None:
        make_pairs(project, 2)
        client = client_as(cast.annotator)
        slot = slot_claim_next(actor=cast.annotator, project=project)
        assert slot is not None

        response = client.post(
            reverse("labeling:answer", args=[slot.pk]), {"role": "discarded"}, headers=HTMX
        )

        body = response.content.decode()
        following = Slot.objects.get(state=SlotState.HELD)
        assert response.status_code == 200
        assert body.lstrip().startswith('<section id="desk"')
        assert following.pair.question in body
        assert "Recorded: discarded" in response["HX-Trigger"]

    def test_a_refused_answer_says_why_and_keeps_the_desk(
        self, cast: Cast, project: Project, client_as: ClientAs
    ) -> None:
        make_pairs(project, 2)
        slot = slot_claim_next(actor=cast.annotator, project=project)
        assert slot is not None

        response = client_as(cast.annotator).post(
            reverse("labeling:answer", args=[slot.pk]), {"role": "perhaps"}, headers=HTMX
        )

        assert response.status_code == 409
        assert b"Choose one of the four roles" in response.content
        assert not Label.objects.exists()

    def test_the_passage_is_read_from_the_document(
        self, cast: Cast, project: Project, client_as: ClientAs
    ) -> None:
        make_pairs(project, 1)
        page = client_as(cast.annotator).post(reverse("labeling:work", args=[project.pk]), follow=True)

        here = [line["text"] for line in page.context["lines"] if line["mark"] == "anchor"]
        assert "Access records are kept for twenty-four months." in here
        assert len(page.context["lines"]) > len(here)
        assert page.context["breadcrumb"] == ("2 Retention",)
        assert "Primary carries the answer." in page.content.decode()

    def test_nothing_of_the_machine_is_shown(self, cast: Cast, project: Project, client_as: ClientAs) -> None:
        run = make_run(asker=cast.analyst, document=Document.objects.get())
        pairs_add_from_runs(actor=cast.admin, project=project, limit=50)
        client = client_as(cast.annotator)
        page = client.post(reverse("labeling:work", args=[project.pk]), follow=True)
        seen = 0
        while page.context["slot"] is not None:
            seen += 1
            candidate = page.context["slot"].pair.candidate
            body = page.content.decode()
            assert candidate.verdict.reason not in body
            assert run.get_absolute_url() not in body
            assert f"{candidate.verdict.probability:.2f}" not in body
            assert "double" not in body
            assert "known" not in body
            page = client.post(
                reverse("labeling:answer", args=[page.context["slot"].pk]), {"role": "primary"}, follow=True
            )
        assert seen > 2

    def test_the_same_page_for_single_double_and_known_pairs(
        self, cast: Cast, project: Project, client_as: ClientAs
    ) -> None:
        """What is checked must not look different."""
        bodies = []
        for places, gold_role in ((1, None), (2, None), (1, "primary")):
            Project.objects.update(gold_share=1 if gold_role else 0)
            project.refresh_from_db()
            (pair,) = make_pairs(project, 1, places=places, start=len(bodies), gold_role=gold_role)
            if gold_role:
                pair.slots.all().delete()
            page = client_as(cast.annotator).post(reverse("labeling:work", args=[project.pk]), follow=True)
            slot = page.context["slot"]
            assert slot.pair_id == pair.pk
            desk = page.content.decode().partition('id="desk"')[2].partition("</section>")[0]
            desk = desk.replace(pair.question, "").replace(f"/desk/{slot.pk}/", "")
            bodies.append([part for part in desk.split("csrfmiddlewaretoken")[0].split() if part])
            slot_answer(actor=cast.annotator, slot=slot, role="primary")
        assert bodies[0] == bodies[1] == bodies[2]

    def test_only_annotators_have_a_desk(self, cast: Cast, project: Project, client_as: ClientAs) -> None:
        for actor in (cast.analyst, cast.reviewer, cast.admin, cast.outsider):
            assert client_as(actor).get(reverse("labeling:work", args=[project.pk])).status_code == 404


class TestSupply:
    def test_an_admin_starts_and_fills_a_project(
        self, cast: Cast, project: Project, client_as: ClientAs
    ) -> None:
        make_run(asker=cast.analyst, document=Document.objects.get())
        client = client_as(cast.admin)
        page = client.post(
            reverse("labeling:projects"),
            {"collection": "alpha", "name": "New", "double_share": 0, "gold_share": 0, "random_share": 10},
            follow=True,
        )
        made = Project.objects.get(name="New")
        page = client.post(reverse("labeling:fill", args=[made.pk]), {"limit": 50}, follow=True)

        assert page.redirect_chain[-1][0] == made.get_absolute_url()
        assert Pair.objects.filter(project=made).count() > 2
        assert "pairs added" in page.content.decode()

    def test_guidelines_have_versions(self, cast: Cast, project: Project, client_as: ClientAs) -> None:
        client = client_as(cast.admin)
        address = reverse("labeling:guidelines", args=[project.pk])
        client.post(address, {"body": "Judge the anchor alone."})
        client.post(address, {"body": "Judge the anchor alone."})

        assert [version.number for version in GuidelineVersion.objects.all()] == [2, 1]

    @pytest.mark.parametrize("name", ["fill", "elusion", "guidelines", "import"])
    def test_others_may_not(self, cast: Cast, project: Project, client_as: ClientAs, name: str) -> None:
        data = {"limit": 5, "elusion-size": 5, "body": "Mine."}
        for actor in (cast.annotator, cast.analyst, cast.reviewer, cast.auditor):
            client_as(actor).post(reverse(f"labeling:{name}", args=[project.pk]), data)

        assert not Pair.objects.exists()
        assert GuidelineVersion.objects.count() == 1

    def test_a_closed_project_gives_nothing_out(
        self, cast: Cast, project: Project, client_as: ClientAs
    ) -> None:
        make_pairs(project, 1)
        client_as(cast.admin).post(reverse("labeling:open", args=[project.pk]), {"open": "0"})

        page = client_as(cast.annotator).post(reverse("labeling:work", args=[project.pk]), follow=True)

        assert "closed" in page.content.decode()
        assert not Slot.objects.filter(state=SlotState.HELD).exists()


class TestAdjudication:
    def test_both_wrong(self, cast: Cast, project: Project, client_as: ClientAs) -> None:
        pair = dispute(cast, project)
        client = client_as(cast.reviewer)
        page = client.get(reverse("labeling:dispute", args=[pair.pk]))
        assert cast.annotator.name not in page.content.decode().partition("<main")[2]

        page = client.post(
            reverse("labeling:dispute", args=[pair.pk]),
            {"role": "tangential", "comment": "It names the period only."},
            follow=True,
        )

        pair.refresh_from_db()
        assert pair.state == PairState.SETTLED
        assert pair.adjudication.outcome == "both_wrong"
        assert "No disputes" in page.content.decode()

    def test_a_refusal_keeps_what_was_typed(self, cast: Cast, project: Project, client_as: ClientAs) -> None:
        pair = dispute(cast, project)
        response = client_as(cast.reviewer).post(
            reverse("labeling:dispute", args=[pair.pk]), {"role": "", "comment": "Typed."}
        )

        assert response.status_code == 422
        assert "Typed." in response.content.decode()

    def test_the_annotators_see_where_they_were_corrected(
        self, cast: Cast, project: Project, client_as: ClientAs
    ) -> None:
        pair = dispute(cast, project)
        pair_adjudicate(actor=cast.reviewer, pair=pair, role="discarded", comment="No period in it.")
        first, second = cast.annotator, annotators(cast, 1)[0]

        wrong = client_as(first).get(reverse("labeling:corrected"))
        right = client_as(second).get(reverse("labeling:corrected"))

        assert [row["correction"].final_role for row in wrong.context["rows"]] == ["discarded"]
        assert "No period in it." in wrong.content.decode()
        assert right.context["rows"] == []

    def test_an_unclear_pair_is_decided_or_set_aside(
        self, cast: Cast, project: Project, client_as: ClientAs
    ) -> None:
        first, second = make_pairs(project, 2)
        for _ in range(2):
            slot = slot_claim_next(actor=cast.annotator, project=project)
            assert slot is not None
            slot_pass(actor=cast.annotator, slot=slot, kind="unsure")
        client = client_as(cast.reviewer)
        assert "nobody can tell" in client.get(reverse("labeling:adjudication")).content.decode()
        page = client.get(reverse("labeling:dispute", args=[first.pk])).content.decode()
        assert "could not tell" in page
        assert "Both are wrong" not in page

        client.post(reverse("labeling:dispute", args=[first.pk]), {"role": "primary"})
        path = reverse("labeling:dispute", args=[second.pk])
        assert client.post(path, {"role": "set_aside", "comment": ""}).status_code == 422
        client.post(path, {"role": "set_aside", "comment": "Cut off."})

        states = dict(Pair.objects.values_list("pk", "state"))
        assert states == {first.pk: PairState.SETTLED, second.pk: PairState.SET_ASIDE}
        assert "Set aside" in client.get(path).content.decode()


class TestGuidelines:
    def test_a_version_shows_what_changed(self, cast: Cast, project: Project, client_as: ClientAs) -> None:
        client = client_as(cast.admin)
        body = "Primary carries the answer.\nSupporting gives <context>."
        client.post(reverse("labeling:guidelines", args=[project.pk]), {"body": body})
        body = "Primary carries the whole answer.\nSupporting gives <context>."
        client.post(reverse("labeling:guidelines", args=[project.pk]), {"body": body})

        page = client_as(cast.annotator).get(project.get_absolute_url()).content.decode()

        assert "<ins>Primary carries the whole answer.</ins>" in page
        assert "<del>Primary carries the answer.</del>" in page
        assert "<p>Supporting gives &lt;context&gt;.</p>" in page
        assert "<ins>Supporting gives &lt;context&gt;.</ins>" in page  # of version 2

    def test_how_many_wait_is_set_on_the_page(
        self, cast: Cast, project: Project, client_as: ClientAs
    ) -> None:
        path = reverse("labeling:supply", args=[project.pk])
        assert client_as(cast.admin).post(path, {"keep_waiting": "-1"}).status_code == 422
        client_as(cast.annotator).post(path, {"keep_waiting": "7"})
        project.refresh_from_db()
        assert project.keep_waiting == 0

        client_as(cast.admin).post(path, {"keep_waiting": "7"})
        project.refresh_from_db()
        assert project.keep_waiting == 7


class TestQueries:
    @pytest.mark.parametrize(
        ("name", "actor"),
        [
            ("projects", "admin"),
            ("project", "admin"),
            ("project", "annotator"),
            ("work", "annotator"),
            ("corrected", "annotator"),
            ("adjudication", "reviewer"),
            ("dispute", "reviewer"),
            ("agreement", "auditor"),
        ],
    )
    def test_a_page_takes_few(
        self, cast: Cast, project: Project, client_as: ClientAs, name: str, actor: str
    ) -> None:
        pair = dispute(cast, project)
        make_pairs(project, 12, start=50)
        slot_claim_next(actor=cast.annotator, project=project)
        key = {"project": project.pk, "work": project.pk, "dispute": pair.pk}.get(name)
        client = client_as(cast.members[actor])
        path = reverse(f"labeling:{name}", args=[key] if key else [])
        assert client.get(path).status_code == 200  # what is cached for long is there

        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert client.get(path).status_code == 200
        assert len(queries) <= 15, "\n".join(query["sql"][:160] for query in queries)
