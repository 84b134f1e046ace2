from __future__ import annotations

from pathlib import Path

from arbitration.errors import LLMFailure
from arbitration.evaluation.datasets import load_dataset
from arbitration.evaluation.judge import Judge
from arbitration.evaluation.linemap import LineMap, LinePosition
from arbitration.evaluation.metrics import QuestionOutcome
from arbitration.evaluation.records import EvalQuestion, LabelledSet, PageEvidence, RankedAnchor
from arbitration.evaluation.runner import evaluate
from tests.arbitration.evaluation import folders

DATASET = LabelledSet(
    "pages",
    (),
    (
        EvalQuestion("a", "Who pays?", answerable=True, evidence=(PageEvidence("d", 2, 2),)),
        EvalQuestion("b", "Who signs?", answerable=True, evidence=(PageEvidence("d", 3, 3),)),
        EvalQuestion("c", "Who sings?", answerable=False),
    ),
)


def pages_in_order(*, question: EvalQuestion, strategy: str) -> QuestionOutcome:
    pages = (1, 2, 3) if strategy == "forward" else (3, 2, 1)
    anchors = tuple(RankedAnchor("d", page, 1, page, 9) for page in pages)
    return QuestionOutcome(ranking=anchors, not_found=question.qid == "c", latency_ms=1.0)


def test_strategies_are_reported_side_by_side_in_the_published_shape() -> None:
    report = evaluate(
        dataset=DATASET, strategies=["forward", "backward"], run_question=pages_in_order, judge=Judge({})
    ).as_json()

    assert {key: report[key] for key in ("dataset", "questions", "answerable", "trained_on")} == {
        "dataset": "pages",
        "questions": 3,
        "answerable": 2,
        "trained_on": None,
    }
    assert report["overlap_questions"] == 0
    assert report["strategies"]["forward"]["MRR"]["value"] == (1 / 2 + 1 / 3) / 2
    assert report["strategies"]["backward"]["MRR"]["value"] == (1 / 2 + 1) / 2
    assert report["strategies"]["forward"]["not_found_recall"]["value"] == 1
    assert "variants" not in report


def test_an_anticipated_failure_is_an_outcome_of_its_own() -> None:
    def run(*, question: EvalQuestion, strategy: str) -> QuestionOutcome:
        if question.qid == "a":
            raise LLMFailure("timeout", "no answer within 5 s")
        return pages_in_order(question=question, strategy=strategy)

    report = evaluate(dataset=DATASET, strategies=["forward"], run_question=run, judge=Judge({}))

    rows = report.strategies["forward"].rows
    assert [row.error for row in rows] == ["no answer within 5 s", None, None]
    assert report.strategies["forward"].metrics["MRR"].value == (0 + 1 / 3) / 2


def test_questions_that_training_saw_are_named() -> None:
    report = evaluate(
        dataset=DATASET,
        strategies=[],
        run_question=pages_in_order,
        judge=Judge({}),
        trained_on="elsewhere",
        training_questions=["who PAYS", "Who knows?"],
    ).as_json()

    assert (report["trained_on"], report["overlap_questions"]) == ("elsewhere", 1)
    assert report["overlap_question_texts"] == ["Who pays?"]


def test_progress_counts_every_repetition() -> None:
    seen: list[tuple[str, int, int]] = []

    report = evaluate(
        dataset=DATASET,
        strategies=["forward"],
        run_question=pages_in_order,
        judge=Judge({}),
        runs=2,
        progress=lambda *step: seen.append(step),
    )

    assert seen[-1] == ("forward", 6, 6)
    assert report.strategies["forward"].metrics["MRR"].n == 2


def test_a_bilingual_set_is_pooled_and_broken_down(tmp_path: Path) -> None:
    dataset = load_dataset(folders.xquad_folder(tmp_path / "x"))
    positions = [LinePosition(1, 1, "x0", 0, 5), LinePosition(1, 2, "x1", 0, 5)]
    line_map = LineMap(positions, {"x0": "lamps", "x1": "burns"})
    judge = Judge({(collection, "Lighthouse"): line_map for collection in dataset.collections})

    def same_language_only(*, question: EvalQuestion, strategy: str) -> QuestionOutcome:
        first = 1 if question.lang == question.collection else 2
        lines = (first, 3 - first)
        return QuestionOutcome(ranking=tuple(RankedAnchor("Lighthouse", 1, n, 1, n) for n in lines))

    report = evaluate(
        dataset=dataset, strategies=["s"], run_question=same_language_only, judge=judge
    ).as_json()

    assert report["questions"] == 1
    assert report["strategies"]["s"]["P@1"] == {"value": 0.5, "low": 0.5, "high": 0.5, "n": 1}
    assert {name: table["P@1"]["value"] for name, table in report["variants"]["s"].items()} == {
        "en-en": 1.0,
        "es-es": 1.0,
        "es-en": 0.0,
        "en-es": 0.0,
    }
