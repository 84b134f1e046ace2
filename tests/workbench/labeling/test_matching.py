"""Labels that are narrower or wider than what detection found, and those that mean no candidate at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from arbitration.pool import CandidatePool, PoolCandidate
from tests.workbench.cast import Cast
from tests.workbench.scene import HashEmbedder, Scene, make_document
from workbench.accounts.models import User
from workbench.infra.dispatch import task_named
from workbench.labeling.matching import LEAST_SHARED, best_match, candidate_lines, matches
from workbench.labeling.models import Label
from workbench.labeling.transfer import ImportReport, labels_import
from workbench.rerankers import tasks, unmatched
from workbench.rerankers.data import learning_data, training_plan
from workbench.rerankers.models import FeatureRow
from workbench.rerankers.services import standing_current
from workbench.runs.models import RunPool

ClientAs = Callable[[User | None], Client]
QUESTION = "How long are access records kept?"


@pytest.fixture
def small_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.rerankers.examples.current_embedder", HashEmbedder)


def row(first: int, last: int, role: str = "primary", **others: object) -> dict[str, object]:
    place = {"document": "policy.txt", "page": 1, "line_from": first, "line_to": last}
    return {"question": QUESTION, **place, "role": role, "judge": "a"} | others


def take_in(cast: Cast, *rows: dict[str, object], **options: Any) -> ImportReport:
    return labels_import(
        actor=cast.admin,
        collection=cast.alpha,
        content="\n".join(json.dumps(one) for one in rows).encode(),
        file_name="labels.jsonl",
        source="annotator",
        match=unmatched.match_here,
        **options,
    )


@pytest.fixture
def pool(scene: Scene) -> CandidatePool:
    return CandidatePool.model_validate(RunPool.objects.get(run=scene.run).body)


# --- which candidate is meant -------------------------------------------------------------------------------


def label_at(scene: Scene, first: int, last: int) -> Label:
    return Label(
        document=scene.document, page_start=1, line_start=first, page_end=1, line_end=last, text_hash="0" * 64
    )


def widest(pool: CandidatePool) -> PoolCandidate:
    return max(pool.candidates, key=lambda c: len(c.anchor_lines))


def test_a_label_narrower_than_a_candidate_means_it(scene: Scene, pool: CandidatePool) -> None:
    candidate = widest(pool)
    line = candidate.anchor_lines[-1]
    assert len(candidate.anchor_lines) > 2, "or there is nothing to be narrower than"

    (found,) = matches([label_at(scene, line, line)], pool)

    assert found is not None
    assert line in found.anchor_lines


def test_a_label_wider_than_every_candidate_means_the_most_alike(scene: Scene, pool: CandidatePool) -> None:
    (found,) = matches([label_at(scene, 1, 10)], pool)

    assert found == widest(pool)


def test_a_label_beside_every_candidate_means_none(scene: Scene, pool: CandidatePool) -> None:
    held = {line for candidate in pool.candidates for line in candidate.anchor_lines}
    kept = pool.model_copy(update={"candidates": pool.candidates[:1]})
    beside = next(line for line in sorted(held) if line not in pool.candidates[0].anchor_lines)

    assert matches([label_at(scene, beside, beside)], kept) == [None]
    assert matches([label_at(scene, beside, beside)], pool) != [None]


LINES = st.dictionaries(st.tuples(st.just(1), st.integers(1, 12)), st.integers(1, 80), min_size=1)


@given(LINES, st.lists(LINES, max_size=5))
def test_what_is_meant_shares_half_of_the_shorter_text(lines: Any, others: list[Any]) -> None:
    """And whatever stands inside a label, or holds it, is meant unless another is more alike."""
    numbered: list[tuple[Any, Any]] = list(enumerate(others))
    # One line has one length, whoever holds it.
    size = {place: n for of in [lines, *others] for place, n in of.items()}
    lines = {place: size[place] for place in lines}
    numbered = [(n, {place: size[place] for place in of}) for n, of in numbered]

    found = best_match(lines, numbered)

    def shared(of: Any) -> float:
        both = sum(size[place] for place in lines if place in of)
        return both / min(sum(lines.values()), sum(of.values()))

    enough = [n for n, of in numbered if shared(of) >= LEAST_SHARED]
    assert (found is None) == (not enough)
    assert found is None or found in enough


def test_where_line_numbers_start_anew_a_page_begins(pool: CandidatePool) -> None:
    over_two = pool.candidates[0].model_copy(
        update={"anchor_lines": (41, 42, 1), "anchor_text": "one\ntwo words\nthree"}
    )

    assert candidate_lines(over_two) == {(1, 41): 3, (1, 42): 8, (2, 1): 5}


# --- what an import says ------------------------------------------------------------------------------------


def test_rows_of_other_borders_train_and_the_rest_is_named(
    cast: Cast, here: None, small_encoder: None
) -> None:
    make_document(collection=cast.alpha, owner=cast.analyst)
    narrow, wide = row(5, 5), row(1, 10, "discarded", question="Who pays for the audit of access records?")

    report = take_in(cast, narrow, wide)

    assert (report.added, report.idle_count, report.not_checked) == (2, 0, 0)
    data = learning_data()
    assert data.without_features == 0
    assert len(data.training.training) + data.training.held_out == 2


@pytest.fixture
def nothing_found(monkeypatch: pytest.MonkeyPatch, small_encoder: None) -> None:
    """Detection that finds the retention section alone, whatever is asked."""
    from arbitration.pipeline import detect

    def only_retention(**arguments: Any) -> CandidatePool:
        found = detect(**arguments)
        kept = tuple(c for c in found.candidates if 5 in c.anchor_lines)
        assert kept
        return found.model_copy(update={"candidates": kept[:1]})

    monkeypatch.setattr("workbench.rerankers.examples.detect", only_retention)


def test_a_row_that_trains_nothing_is_named(
    cast: Cast, client_as: ClientAs, here: None, nothing_found: None
) -> None:
    make_document(collection=cast.alpha, owner=cast.analyst)
    rows = [row(5, 5), row(9, 9, "discarded")]
    assert take_in(cast, *rows, dry_run=True).idle_count == 1
    assert not Label.objects.exists()
    assert not FeatureRow.objects.exists()

    report = take_in(cast, *rows)

    assert (report.added, report.idle_count, [one.line for one in report.idle]) == (2, 1, [2])
    assert "shares enough text" in report.idle[0].problem
    assert training_plan(standing_current()).unmatched == 1
    page = client_as(cast.admin).get(reverse("models:plan")).content.decode()
    assert "Labels that train nothing" in page
    assert QUESTION in page
    assert "1 label trains nothing" in client_as(cast.admin).get(reverse("models:models")).content.decode()
    (told,) = client_as(cast.admin).get("/api/v1/trainings/plan/").json()["unmatched_labels"]
    assert (told["question"], told["line_start"]) == (QUESTION, 9)
    outside = client_as(cast.outsider).get("/api/v1/trainings/plan/").json()
    assert (outside["unmatched"], outside["unmatched_labels"]) == (1, [])


def test_the_command_names_them_too(
    cast: Cast, here: None, nothing_found: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_document(collection=cast.alpha, owner=cast.analyst)
    file = tmp_path / "labels.jsonl"
    file.write_text(json.dumps(row(9, 9)))

    call_command("import_labels", str(file), collection="alpha", source="annotator", json=True)

    told = json.loads(capsys.readouterr().out)
    assert (told["added"], told["idle_count"], told["idle"][0]["line"]) == (1, 1, 1)


def test_the_page_waits_for_the_worker_and_says_what_is_open(
    cast: Cast, here: None, nothing_found: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_document(collection=cast.alpha, owner=cast.analyst)
    take_in(cast, row(5, 5), row(9, 9))
    labels = list(Label.objects.order_by("pk"))
    FeatureRow.objects.all().delete()

    def sent(task: object, *, import_id: int) -> None:
        assert task == tasks.match.name

    monkeypatch.setattr(unmatched, "dispatch_on_commit", sent)
    assert unmatched.match_by_worker(labels, True).not_checked == 2
    monkeypatch.setattr(
        unmatched, "dispatch_on_commit", lambda name, **arguments: task_named(name)(**arguments)
    )
    found = unmatched.match_by_worker(labels, True)

    assert (found.places, found.not_checked) == ((1,), 0)
    assert unmatched.match_by_worker(labels, False).not_checked == 2


def test_a_passage_that_holds_evidence_is_evidence(cast: Cast, here: None, nothing_found: None) -> None:
    """Two lines of one candidate, judged apart: one row trains."""
    make_document(collection=cast.alpha, owner=cast.analyst)
    question = _of_training_side()
    take_in(cast, row(5, 5, "primary", question=question), row(6, 6, "discarded", question=question))
    assert set(FeatureRow.objects.values_list("pool_candidate", flat=True)) != {""}

    rows = learning_data().training.training

    assert rows.labels.tolist() == [1]


def _of_training_side() -> str:
    from training.snapshot import QuestionSides, Side

    wordings = (f"How long are access records of branch {n} kept?" for n in range(50))
    return next(text for text in wordings if QuestionSides().add(text) is Side.TRAINING)
