"""``manage.py evaluate``: its options, what it prints and what the Strategies page shows of it."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from arbitration.evaluation.datasets import load_dataset
from arbitration.pipeline import detect
from arbitration.pool import CandidatePool
from tests.arbitration.evaluation.folders import obliqa_folder, obliqa_label
from tests.workbench.cast import Cast
from tests.workbench.scene import HashEmbedder
from workbench.runs.evaluation import QuestionRunner, dataset_load
from workbench.runs.models import EvaluationRun, Run
from workbench.runs.scratch import label_set

ANSWER = "within thirty days"


@pytest.fixture
def folder(tmp_path: Path, cast: Cast, here: None, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Path:
    monkeypatch.setattr("workbench.runs.evaluation.current_embedder", HashEmbedder)
    monkeypatch.setattr("workbench.documents.ingest.current_embedder", HashEmbedder)
    settings.OPENAI_MODEL = "answering-model"
    labels = [
        obliqa_label("1.1.1.(1)", qid="a", question="When must a firm pay its fee?", answer=ANSWER),
        obliqa_label(
            "1.1.1.(2)", qid="b", question="By how much is a late fee increased?", answer="one tenth"
        ),
    ]
    return obliqa_folder(tmp_path / "set", labels)


def evaluated(folder: Path, *options: str) -> dict[str, Any]:
    out = StringIO()
    call_command("evaluate", str(folder), "--json", *options, stdout=out)
    return json.loads(out.getvalue())


def test_the_ladder_is_measured_side_by_side_and_stored(folder: Path) -> None:
    value = evaluated(folder, "--strategies", "ladder")
    assert list(value["strategies"])[:3] == ["bm25", "semantic", "rrf"]
    assert value["strategies"]["bm25"]["MRR"]["value"] == 1
    assert EvaluationRun.objects.get().report["strategies"].keys() == value["strategies"].keys()


def test_parts_of_the_engine_can_be_left_out(folder: Path) -> None:
    evaluated(folder, "--strategies", "offline", "--without", "precedence,definitions")
    assert EvaluationRun.objects.get().options["without"] == "precedence,definitions"
    with pytest.raises(CommandError, match="Unknown parts: magic"):
        evaluated(folder, "--strategies", "offline", "--without", "magic")


def test_answers_without_a_judge_have_the_figures_that_need_none(folder: Path) -> None:
    value = evaluated(folder, "--strategies", "offline", "--answers", "--runs", "2")
    figures = value["strategies"]["offline"]
    assert value["judge"] is None
    assert figures["answer_inclusion"]["n"] == 2
    assert figures["quotes_stand"]["value"] == 1
    assert figures["answer_similarity"]["value"] is None


def test_the_cache_answers_what_was_asked_before_and_says_what_it_saves(folder: Path) -> None:
    value = evaluated(folder, "--strategies", "offline", "--cached")
    (figures,) = value["cached"]["offline"].values()
    assert figures["first"]["hit_rate"] == 0
    assert figures["again"]["hit_rate"] == figures["respaced"]["hit_rate"] == 1
    assert figures["again"]["wrong_hit_rate"] == figures["rephrased"]["wrong_hit_rate"] == 0
    assert figures["again"]["calls"] == 0
    assert Run.objects.count() == 2 * (1 + (figures["rephrased"]["hit_rate"] < 1))


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["--strategies", "nonesuch"], 2),
        (["--strategies", ","], 2),
        (["--strategies", "bm25", "--train-on", ".", "--cross-fit", "2"], 2),
        (["--strategies", "arbiter"], 1),
        (["--strategies", "bm25", "--answers", "--judge", "other-model"], 1),
    ],
)
def test_wrong_use_and_refusals_differ(folder: Path, options: list[str], status: int) -> None:
    with pytest.raises(CommandError) as caught:
        evaluated(folder, *options)
    assert caught.value.returncode == status
    assert EvaluationRun.objects.count() == 0


def test_the_model_that_answers_does_not_judge(folder: Path, settings: Any) -> None:
    settings.LLM_CONFIGURED = True
    with pytest.raises(CommandError, match="cannot judge"):
        evaluated(folder, "--strategies", "bm25", "--answers", "--judge", "answering-model")


@pytest.mark.parametrize("value", ["0", "-1", "x", "9" * 40])
def test_counts_that_mean_nothing_are_wrong_use(folder: Path, value: str) -> None:
    with pytest.raises(CommandError) as caught:
        evaluated(folder, "--strategies", "bm25", f"--runs={value}")
    assert caught.value.returncode in (1, 2)


def test_the_strategies_page_shows_the_figures(folder: Path, cast: Cast, client_as: Any) -> None:
    evaluated(folder, "--strategies", "bm25,offline", "--answers", "--cached")
    page = client_as(cast.auditor).get("/strategies/").content.decode()
    assert "What the cache saves" in page
    assert "answer inclusion" in page.lower()
    assert 'class="plot"' in page
    assert "Rules decide, people decide the uncertain" in page
    assert "briefs" not in page  # a word of the code
    spanish = client_as(cast.auditor).get("/strategies/", headers={"accept-language": "es"}).content.decode()
    assert "Rules decide" not in spanish


def test_cross_fitting_detects_each_question_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = load_dataset(folder)
    loaded = dataset_load(dataset=dataset, tell=lambda _text: None)
    asked: list[str] = []

    def counted(*, question: str, **options: Any) -> CandidatePool:
        asked.append(question)
        return detect(question=question, **options)

    monkeypatch.setattr("workbench.runs.evaluation.detect", counted)
    runner = QuestionRunner(loaded=loaded, strategies=["bm25", "offline"], keep_pools=True)
    label_set(loaded=loaded, runner=runner, tell=lambda _text: None)
    for question in dataset.questions:
        again = runner(question=question, strategy="bm25")
        assert again.ranking
        assert runner.pool(question) == runner.pool(question)
    runner.close()
    assert asked == [question.text for question in dataset.questions]
