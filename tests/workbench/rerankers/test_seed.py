"""The model that ships: what it may be trained on, how it is installed, and when an evaluation sets it aside."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from arbitration.evaluation.datasets import load_dataset
from arbitration.evaluation.question_groups import question_hash, question_key
from arbitration.evaluation.records import DatasetDocument, StructuredUnit
from arbitration.features import FEATURE_VERSION
from tests.training.makers import QUICK, dataset
from tests.workbench.rerankers.makers import World, retrained, truths
from training.artifacts import read_artifact, write_artifact
from training.run import train_model
from training.snapshot import Snapshot as Rows
from workbench.accounts.models import User
from workbench.devtools.seed_build import (
    TRAINING_QUESTIONS,
    _Split,
    beats_rules,
    sampled,
    shortfall,
    without_benchmark,
)
from workbench.rerankers import seed
from workbench.rerankers.aliases import alias_version
from workbench.rerankers.champion import champion_model, champion_services, loaded_forget, serving_now
from workbench.rerankers.evaluation import deployed_for
from workbench.rerankers.models import ModelVersion


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small shipped model of our own making, with a card."""
    made = train_model(Rows(dataset(40), FEATURE_VERSION, 0, 0), config=QUICK)
    write_artifact(tmp_path / "seed", made.artifact)
    card = {"digest": made.artifact.manifest.version, "serves": True, "report": {}}
    (tmp_path / "seed" / seed.CARD).write_text(json.dumps(card), "utf-8")
    return tmp_path / "seed"


def test_a_new_installation_starts_with_the_shipped_model_and_says_so(
    world: World, folder: Path, settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seed, "FOLDER", folder)
    settings.SEED_MODEL = True

    served = champion_model()

    version = ModelVersion.objects.get()
    assert (version.origin, served.version) == ("seed", version.name)
    assert champion_services().is_borrowed
    assert champion_model().version == version.name
    assert ModelVersion.objects.count() == 1


def test_where_it_ships_no_more_the_rules_serve_and_the_record_stays(
    world: World, folder: Path, settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seed, "FOLDER", folder)
    settings.SEED_MODEL = True
    assert champion_model() is not None

    settings.SEED_MODEL = False

    assert champion_model() is None
    assert champion_services().scorer is None
    assert serving_now().champion is None
    assert alias_version() == ModelVersion.objects.get()


def test_the_shipped_model_displaces_nobody(gold: World, system: User, folder: Path) -> None:
    gold.label(truths(range(60)))
    own = retrained(system).challenger

    seeded = seed.seed_install(actor=system, folder=folder)

    assert not seeded.is_champion
    assert not champion_services().is_borrowed
    assert seeded.version.passed_at is not None  # one can go back to it
    assert alias_version() == own


def test_a_shipped_model_for_other_features_is_left_out(system: User, folder: Path, world: World) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text("utf-8")) | {"feature_version": FEATURE_VERSION + 1}
    path.write_text(json.dumps(manifest), "utf-8")

    seeded = seed.seed_install(actor=system, folder=folder)

    assert seeded.version is None
    assert "feature version" in seeded.reason
    assert alias_version() is None


def test_an_evaluation_sets_aside_a_model_that_knows_a_question(
    system: User, folder: Path, world: World, settings
) -> None:
    settings.SEED_MODEL = True
    seed.seed_install(actor=system, folder=folder)
    loaded_forget()
    known = dataset(40).questions[0]

    used = deployed_for(["A question nobody trained on?"])
    assert (used.is_used, used.overlap) == (True, ())
    assert used.services.scorer is not None

    aside = deployed_for([known.upper() + " !", "A question nobody trained on?"])
    assert not aside.is_used
    assert aside.as_json()["overlap_questions"] == 1
    assert aside.services.scorer is None


def test_where_a_model_stays_behind_is_said_with_figures() -> None:
    def row(model: float, rules: float) -> dict:
        return {"model": {"f1": model}, "rules": {"f1": rules}}

    card = {
        "held_out_documents": {"cuad": row(0.5, 0.4)},
        "held_out_questions": {"cuad": row(0.214, 0.302), "contractnli": row(0.2, 0.16)},
    }
    assert shortfall(card).endswith("held out questions of cuad F1 0.214, the rules' 0.302")
    card["held_out_questions"]["cuad"] = row(0.4, 0.302)
    assert shortfall(card) == ""
    assert "nothing was held out" in shortfall({"held_out_documents": {}, "held_out_questions": {}})


def test_what_ships_can_be_loaded_and_its_card_shows_held_out_questions() -> None:
    artifact = read_artifact(seed.FOLDER)
    card = seed.seed_card()

    assert card["digest"] == artifact.manifest.version
    assert artifact.manifest.feature_version == FEATURE_VERSION, "build it again: manage.py build_seed_model"
    assert card["trained_on"]["cuad"]["questions"] <= 30
    assert {"cuad", "contractnli"} <= set(card["held_out_questions"])
    assert card["passes_floor"] == beats_rules(card)
    assert card["serves"] == (card["passes_floor"] and not card["why_not"])
    assert sum(path.stat().st_size for path in seed.FOLDER.iterdir()) < 1_500_000


@pytest.mark.data
def test_no_benchmark_query_is_in_any_training_set(shared_data: Path) -> None:
    trained = set(read_artifact(seed.FOLDER).manifest.questions)
    rows = (shared_data / "arf_us_constitution" / "labels.jsonl").read_text("utf-8").splitlines()
    benchmark = [row["question"] for row in map(json.loads, rows) if row["qid"].startswith("arf-bench-")]

    assert len(benchmark) == 15
    assert not trained & {question_hash(text) for text in benchmark}


@pytest.mark.data
def test_the_builder_drops_benchmark_queries_and_their_near_duplicates(shared_data: Path) -> None:
    whole = load_dataset(shared_data / "arf_us_constitution")
    kept = without_benchmark(whole)

    assert {q.qid for q in whole.questions} - {q.qid for q in kept.questions} >= {
        q.qid for q in whole.questions if q.qid.startswith("arf-bench-")
    }
    assert not any(q.qid.startswith("arf-bench-") for q in kept.questions)


@pytest.mark.data
@pytest.mark.parametrize(("name", "questions"), [("cuad", 41), ("contractnli", 17)])
def test_held_out_questions_and_documents_share_nothing_with_training(
    name: str, questions: int, shared_data: Path
) -> None:
    drawn = sampled(load_dataset(shared_data / name), documents=20)
    split = _Split.of(drawn)
    sides: dict[str, list] = {"training": [], "other_documents": [], "other_questions": [], "": []}
    for question in drawn.questions:
        sides[split.part(question)].append(question)

    trained = {question_key(q.text) for q in sides["training"]}
    assert len(trained) <= TRAINING_QUESTIONS[name] < questions
    assert trained.isdisjoint(question_key(q.text) for q in sides["other_questions"])
    documents = {q.document_id for q in sides["training"]}
    assert documents.isdisjoint(q.document_id for q in sides["other_documents"] + sides["other_questions"])


def test_an_evaluation_sets_aside_a_model_that_knows_a_document(
    system: User, folder: Path, world: World, settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SEED_MODEL = True
    text = DatasetDocument("a", "A", units=(StructuredUnit("1", "Term", "Two years."),)).content_hash()
    card = json.loads((folder / seed.CARD).read_text("utf-8")) | {"documents": [text]}
    (folder / seed.CARD).write_text(json.dumps(card), "utf-8")
    monkeypatch.setattr(seed, "FOLDER", folder)
    seed.seed_install(actor=system)
    other_name = DatasetDocument("b", "B", units=(StructuredUnit("9", "Term", "Two years."),))
    other_text = DatasetDocument("a", "A", units=(StructuredUnit("1", "Term", "Three years."),))

    assert deployed_for(["Why?"], [other_text.content_hash()]).is_used
    aside = deployed_for(["Why?"], [other_name.content_hash()])
    assert (aside.is_used, aside.as_json()["overlap_documents"]) == (False, 1)
    assert aside.services.scorer is None


def test_the_shipped_card_names_the_documents_it_was_trained_on() -> None:
    documents = seed.seed_card()["documents"]

    assert len(documents) == len(set(documents)) > 30
    assert all(re.fullmatch(r"[0-9a-f]{16}", each) for each in documents)
