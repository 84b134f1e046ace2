"""Agreement on stored labels, the heat map, and the export."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from arbitration.contracts import Role
from tests.workbench.cast import Cast
from tests.workbench.labeling.makers import annotators, make_pairs, make_project
from workbench.accounts.models import User
from workbench.documents.models import Document
from workbench.infra.plots import heat_map
from workbench.labeling.agreement import collection_agreement
from workbench.labeling.models import Label, Pair, Project, SourceChoice
from workbench.labeling.services import label_retract
from workbench.labeling.work import label_of_pair

pytestmark = pytest.mark.usefixtures("here")
ClientAs = Callable[[User | None], Client]
P, S, T, D = Role


@pytest.fixture
def project(cast: Cast) -> Project:
    return make_project(cast)


def judged(
    pairs: list[Pair], person: User, roles: list[Role], *, source: str = SourceChoice.ANNOTATOR
) -> None:
    for pair, role in zip(pairs, roles, strict=False):
        label_of_pair(pair=pair, role=role, source=source, person=person).save()


def by_model(pairs: list[Pair], roles: list[Role], *, name: str = "small-model") -> None:
    for pair, role in zip(pairs, roles, strict=False):
        label = label_of_pair(pair=pair, role=role, source=SourceChoice.LLM, person=None)  # type: ignore[arg-type]
        label.blind, label.judge_name = False, name
        label.save()


class TestFigures:
    def test_two_people_by_hand(self, cast: Cast, project: Project) -> None:
        """Three of four alike; chance 2*2/16 + 1*0 + 1*2/16... = 0.375, so kappa = (0.75 - 0.375) / 0.625 = 0.6."""
        pairs = make_pairs(project, 4)
        judged(pairs, cast.annotator, [P, P, S, D])
        judged(pairs, annotators(cast, 1)[0], [P, P, D, D])

        figures = collection_agreement(collection=cast.alpha)

        (pair,) = figures.people.pairs
        assert pair.percent.value == 0.75
        assert pair.kappa.value == pytest.approx((0.75 - 0.375) / 0.625)
        assert (pair.percent.n, figures.people.alpha.n) == (4, 4)
        assert {figures.names[pair.first], figures.names[pair.second]} == {"Annotator", "Annotator 0"}

    def test_a_label_taken_back_counts_no_more(self, cast: Cast, project: Project) -> None:
        pairs = make_pairs(project, 2)
        judged(pairs, cast.annotator, [P, D])
        judged(pairs, annotators(cast, 1)[0], [P, P])
        assert collection_agreement(collection=cast.alpha).people.percent.value == 0.5

        label = Label.objects.filter(role="discarded").get()
        label_retract(label=label, by=cast.annotator, reason="undo")

        assert collection_agreement(collection=cast.alpha).people.percent.value == 1.0

    def test_a_model_against_the_last_word_of_people(self, cast: Cast, project: Project) -> None:
        Document.objects.update(document_type="policy")
        pairs = make_pairs(project, 3)
        judged(pairs, cast.annotator, [P, P, D])
        judged(pairs[1:2], cast.reviewer, [D], source=SourceChoice.ADJUDICATED)
        by_model(pairs, [P, D, S])

        (model,) = collection_agreement(collection=cast.alpha).models

        assert (model.model, model.is_blind) == ("small-model", True)
        assert model.percent.value == pytest.approx(2 / 3)
        assert model.confusion[0][0] == 1  # people: primary; the model: primary
        assert model.confusion[3] == (0, 1, 0, 1)
        assert [(part.name, part.percent.n) for part in model.by_role] == [("primary", 1), ("discarded", 2)]
        assert [(part.name, part.percent.n) for part in model.by_type] == [("policy", 3)]
        assert len(model.by_month) == 1

    def test_other_collections_say_nothing_here(self, cast: Cast, project: Project) -> None:
        pairs = make_pairs(project, 2)
        judged(pairs, cast.annotator, [P, D])
        judged(pairs, annotators(cast, 1)[0], [P, P])

        assert collection_agreement(collection=cast.beta).people.percent.n == 0


class TestPage:
    def test_overseers_see_figures_and_their_picture_in_words(
        self, cast: Cast, project: Project, client_as: ClientAs
    ) -> None:
        pairs = make_pairs(project, 4)
        judged(pairs, cast.annotator, [P, P, S, D])
        judged(pairs, annotators(cast, 1)[0], [P, P, D, D])
        by_model(pairs, [P, S, S, D])
        for actor in (cast.reviewer, cast.admin, cast.auditor):
            body = client_as(actor).get(reverse("labeling:agreement")).content.decode()
            assert "0.600" in body
            assert "Annotator, Annotator 0: 0.60" in body
            assert "small-model against people" in body

    def test_annotators_see_no_figures_of_others(
        self, cast: Cast, project: Project, client_as: ClientAs
    ) -> None:
        judged(make_pairs(project, 1), cast.annotator, [P])
        page = client_as(cast.annotator).get(reverse("labeling:agreement"))

        assert page.context["collection"] is None


class TestExport:
    def test_one_column_a_judge_safe_to_open(self, cast: Cast, project: Project, client_as: ClientAs) -> None:
        User.objects.filter(pk=cast.annotator.pk).update(name="=HYPERLINK(1)")
        pairs = make_pairs(project, 2)
        judged(pairs, cast.annotator, [P, D])
        judged(pairs[:1], annotators(cast, 1)[0], [D])
        by_model(pairs[1:], [S])

        body = (
            client_as(cast.admin).get(reverse("labeling:export", args=["alpha"])).content.decode("utf-8-sig")
        )

        rows = list(csv.DictReader(io.StringIO(body)))
        assert [row["disputed"] for row in rows] == ["1", "0"]
        assert [row["role"] for row in rows] == ["", "discarded"]
        assert [row["'=HYPERLINK(1)"] for row in rows] == ["primary", "discarded"]
        assert [row["Annotator 0"] for row in rows] == ["discarded", ""]
        assert [row["small-model"] for row in rows] == ["", "supporting"]

    def test_only_admins(self, cast: Cast, project: Project, client_as: ClientAs) -> None:
        for actor in (cast.annotator, cast.reviewer, cast.outsider):
            assert client_as(actor).get(reverse("labeling:export", args=["alpha"])).status_code == 404


def test_a_heat_map_says_what_it_shows() -> None:
    plot = heat_map(
        title="Kappa",
        rows=["Ana", "A very long name indeed"],
        columns=["Ana", "Ben"],
        cells=[[None, -0.2], [0.5, 1.0]],
    )

    assert [cell.text for cell in plot.cells] == ["-0.20", "0.50", "1.00"]
    assert [cell.strength for cell in plot.cells] == [0.0, 0.2, 0.4]
    assert plot.description == (
        "Kappa: Ana, Ben: -0.20; A very long name indeed, Ana: 0.50; A very long name indeed, Ben: 1.00"
    )
    assert plot.rows[1][1] == "A very long n…"
