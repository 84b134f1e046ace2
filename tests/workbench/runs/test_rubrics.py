"""The criteria of a two-turn run: kept, shown, edited for another run, and part of the cache key."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from arbitration.strategies.rubrics import Criterion, Rubric
from tests.workbench.cast import Cast
from tests.workbench.scene import Scene
from workbench.accounts.models import User
from workbench.errors import WorkbenchError
from workbench.runs.models import Run, Verdict
from workbench.runs.services import cache_key, question_ask

ClientAs = Callable[[User | None], Client]

INFERRED = Rubric(
    criteria=[
        Criterion(name="figures", definition="Names a period.", zero="none", five="exact", weight=0.5),
        Criterion(name="scope", definition="Says whose records.", zero="nobody's", five="all", weight=0.3),
    ]
)
ROW = {"definition": "Names a period.", "zero": "none", "five": "exact"}


@pytest.fixture(autouse=True)
def _with_a_model(settings: Any) -> None:
    settings.LLM_CONFIGURED = True


@pytest.fixture
def ranked(scene: Scene) -> Run:
    """A run that a model ranked by criteria of its own."""
    Run.objects.filter(pk=scene.run.pk).update(
        strategy="multi-criteria-2", artefacts={"rubric": INFERRED.model_dump_json()}
    )
    terms = {"relevance": 8.0, "0.5 x figures": 2.5, "total": 10.5}
    Verdict.objects.filter(candidate__run=scene.run).update(terms=terms)
    return Run.objects.get(pk=scene.run.pk)


def sent(*criteria: dict[str, Any]) -> dict[str, Any]:
    """The forms as a browser sends them."""
    fields: dict[str, Any] = {"criteria-TOTAL_FORMS": len(criteria), "criteria-INITIAL_FORMS": 2}
    for number, criterion in enumerate(criteria):
        fields |= {f"criteria-{number}-{name}": value for name, value in criterion.items()}
    return fields


def test_criteria_and_terms_are_shown(cast: Cast, client_as: ClientAs, ranked: Run) -> None:
    page = client_as(cast.analyst).get(f"/runs/{ranked.pk}/?tab=provenance").content.decode()
    assert "Criteria that the model inferred" in page
    assert "Says whose records." in page
    assert "0.5 x figures 2.50" in page
    assert "0.5 x figures 2.50" in client_as(cast.analyst).get(f"/runs/{ranked.pk}/").content.decode()
    record = client_as(cast.auditor).get(f"/runs/{ranked.pk}/record.json").json()["audit"]
    assert json.loads(record["artefacts"]["rubric"])["criteria"][0]["name"] == "figures"
    assert record["provenances"][0]["score_terms"]["total"] == 10.5


def test_edited_criteria_make_a_run_of_their_own(cast: Cast, client_as: ClientAs, ranked: Run) -> None:
    client = client_as(cast.analyst)
    edited = sent(ROW | {"name": "figures", "weight": "1"}, {"name": "", "weight": ""})
    answer = client.post(f"/runs/{ranked.pk}/again/", edited)
    assert answer.status_code == 302
    other = Run.objects.latest("id")
    assert other.pk != ranked.pk
    assert other.rubric_edits == {"criteria": [ROW | {"name": "figures", "weight": 1.0}]}
    assert other.strategy == "multi-criteria-2"


@pytest.mark.parametrize(
    ("criteria", "words"),
    [
        ([{"name": "", "weight": ""}], "Name at least one criterion."),
        ([{"name": "a", "weight": ""}], "a weight"),
        ([{"name": "a", "weight": "2"}], "less than or equal to 1"),
        ([{"name": "a", "weight": "1"}, {"name": "A", "weight": "1"}], "Name each criterion once."),
        ([{"name": "n" * 61, "weight": "1"}], "at most 60 characters"),
        ([{"name": f"c{n}", "weight": "1"} for n in range(9)], "at most 8 forms"),
    ],
)
def test_nonsense_is_refused_in_words(
    criteria: list[dict[str, Any]], words: str, cast: Cast, client_as: ClientAs, ranked: Run
) -> None:
    before = Run.objects.count()
    answer = client_as(cast.analyst).post(f"/runs/{ranked.pk}/again/", sent(*criteria), follow=True)
    assert words in answer.content.decode()
    assert Run.objects.count() == before


def test_other_criteria_are_another_question_to_the_cache(cast: Cast, scene: Scene) -> None:
    def key(rubric: Rubric | None) -> str:
        return cache_key(
            collection=cast.alpha,
            document=scene.document,
            text="Why?",
            strategy="multi-criteria-2",
            rubric=rubric,
        )

    other = INFERRED.model_copy(update={"criteria": INFERRED.criteria[:1]})
    assert len({key(None), key(INFERRED), key(other)}) == 3


def test_a_strategy_without_criteria_takes_none(cast: Cast, scene: Scene) -> None:
    with pytest.raises(WorkbenchError, match="no criteria"):
        question_ask(
            actor=cast.analyst, collection=cast.alpha, text="Why?", strategy="offline", rubric=INFERRED
        )


def test_by_the_api(cast: Cast, client_as: ClientAs, scene: Scene) -> None:
    body = {"collection": "alpha", "text": "Why?", "strategy": "multi-criteria-2"}
    given = [ROW | {"name": "figures", "weight": 1.0}]
    client = client_as(cast.analyst)

    def ask(criteria: list[dict[str, Any]]) -> Any:
        return client.post(
            "/api/v1/questions/", body | {"criteria": criteria}, content_type="application/json"
        )

    assert ask(given).status_code == 201
    assert Run.objects.latest("id").rubric_edits == {"criteria": given}
    assert ask([]).status_code == 400
    assert ask(given * 2).status_code == 400
    assert ask([ROW | {"name": "figures", "weight": 3}]).status_code == 400
