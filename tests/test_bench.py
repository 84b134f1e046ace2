"""The code that the benchmarks share, in small."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import numpy as np
import pypdfium2
import pytest

from arbitration.features import FEATURE_NAMES
from arbitration.strategies.settable import call_plan
from tests.bench import answerability, crowded, unseen, year, year_chances, year_plot
from tests.bench.corpora import WIDTH, Language, _places
from tests.bench.growth import drawn, series
from tests.bench.ingest import a_pdf
from tests.bench.prompt_sizes import PASSAGES, sizes_of
from tests.bench.recombined import RUN, RealLanguage, RecombinedCorpus
from tests.training.makers import question
from training.fitting import TrainingConfig
from training.gate import GatePolicy
from training.labels import LabelSource
from training.snapshot import QuestionSides, Side

CLAUSE = (
    "the supplier shall deliver the goods to the buyer within thirty days of the order and the buyer shall pay the "
    "price of the goods on the day of the delivery unless the parties have agreed otherwise in writing before that day"
)


def test_the_made_up_language_is_the_same_each_time_and_its_function_words_are_the_commonest() -> None:
    one, other = Language(), Language()
    drawn_words = one.drawn(np.random.default_rng(1), 20_000)
    assert list(one.words[:500]) == list(other.words[:500])
    assert len(set(one.words)) == len(one.words)
    assert np.mean(drawn_words < one.functional) > 0.3


def test_recombined_passages_have_the_words_and_neighbours_of_real_ones() -> None:
    rng = np.random.default_rng(2)
    texts = [
        " ".join(rng.choice(CLAUSE.split(), 60)) + f" {topic} {topic} {topic}"
        for topic in ("oil", "milk", "steel")
    ]
    vectors = np.eye(3, WIDTH, dtype=np.float32)
    one, other = (
        RecombinedCorpus(
            collection=None, space=None, actor=None, language=RealLanguage(texts=texts), vectors=vectors
        )
        for _ in range(2)
    )
    batch = one._batch(400)
    words = one.language.words[np.concatenate(batch.words)]

    assert [list(row) for row in other._batch(400).words] == [list(row) for row in batch.words]
    assert np.allclose(np.linalg.norm(batch.vectors, axis=1), 1, atol=1e-5)
    nearest = (batch.vectors @ vectors.T).argmax(axis=1)
    assert np.mean(nearest == batch.topics) > 0.95
    assert all(20 <= len(row) < 220 + RUN for row in batch.words)
    real = set(" ".join(texts).split())
    assert 0.96 < np.mean([word in real for word in words]) < 1
    shares = Counter(" ".join(texts).split())
    assert np.mean(words == "the") == pytest.approx(shares["the"] / shares.total(), abs=0.02)
    titles = {topic: one._title(batch, list(batch.topics).index(topic), 3) for topic in range(3)}
    assert all(len(title.split()) == 3 for title in titles.values())


def test_passages_of_a_page_follow_each_other_line_by_line() -> None:
    places = _places([3, 2, 4, 1, 5])
    assert [(place.page, place.first, place.last) for place in places] == [
        (1, 1, 3), (1, 4, 5), (1, 6, 9), (1, 10, 10), (2, 1, 5),
    ]  # fmt: skip


def test_the_hand_written_pdf_can_be_read() -> None:
    document = pypdfium2.PdfDocument(io.BytesIO(a_pdf(pages=2, seed=1)))
    text = document[1].get_textpage().get_text_bounded()
    assert len(document) == 2
    assert text.startswith("2 ")
    assert len(text.split()) > 400


def test_the_growth_is_drawn_as_well_formed_svg_with_every_line() -> None:
    rows = [
        {"passages": n, "pipeline": {"offline": [10.0 * n**0.1, 40.0]}, "bare": {"pgvector": [1.0, 2.0]}}
        for n in (2_000, 20_000, 200_000)
    ]
    lines = series(rows)
    assert [name for name, points in lines.items() if len(points) != 3] == []
    picture = ElementTree.fromstring(drawn(lines))
    texts = " ".join(element.text or "" for element in picture.iter() if element.tag.endswith("text"))
    assert all(f"{name}:" in texts for name in lines)


def test_what_an_estimate_says_of_a_strategy_is_no_less_than_what_its_calls_read() -> None:
    for strategy in ("arbiter", "pointwise", "multi-criteria"):
        sizes = sizes_of(strategy, {})
        plan = call_plan(strategy, {}, candidates=PASSAGES)
        others = 2  # reading the question, and the answer
        assert plan.calls == sizes.calls + others
        assert sizes.read <= plan.input_tokens


def test_of_the_passages_behind_the_best_less_is_read() -> None:
    default, whole, hints = (
        sizes_of("arbiter", options).read for options in ({}, {"whole": PASSAGES}, {"hints": True})
    )
    assert default < 0.95 * whole
    assert default < hints


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("`arbiter`", {}),
        ("`arbiter` with `hints`", {"hints": True}),
        ("`arbiter`, all passages whole", {"whole": PASSAGES}),
        ("`pointwise`", {}),
        ("`multi-criteria`", {}),
    ],
)
def test_the_table_of_tokens_is_what_the_command_counts(name: str, options: dict[str, object]) -> None:
    """The prompts' own part to the token; the passages roughly, which follow how documents are cut."""
    rows = Path("docs/strategies.md").read_text(encoding="utf-8").split("\n")
    row = next(row for row in rows if re.fullmatch(rf"\| {re.escape(name)} \| \d .*", row))
    calls, fixed, read = (int(cell.split()[0].replace(",", "")) for cell in row.split("|")[2:5])
    sizes = sizes_of(name.split("`")[1], options)
    assert (calls, fixed) == (sizes.calls, sizes.fixed)
    assert read == pytest.approx(sizes.read, rel=0.1)


# --- the simulated year -------------------------------------------------------------------------------------------


def an_installation(monkeypatch: pytest.MonkeyPatch) -> year.Year:
    """Made-up questions that can be learned, and rules that hardly know more than chance; two months."""
    monkeypatch.setattr(year, "MONTHS", 2)
    asked = []
    for number in range(140):
        rng = np.random.default_rng([7, number])
        labels = (np.arange(20) < 3).astype(np.int64)
        features = rng.normal(0.0, 1.0, (20, len(FEATURE_NAMES)))
        features[:, 0] = labels + rng.normal(0.0, 0.2, 20)
        estimates = np.clip(0.3 * labels + rng.uniform(0.0, 0.7, 20), 0.0, 1.0)
        asked.append(year.Asked(question(number), features, labels, estimates))
    config = TrainingConfig(architectures=("mlp-64-32",), members=1)
    policy = GatePolicy(min_cross_questions=5, min_cross_positives=3, min_cross_negatives=3)
    return year.Year(asked[40:], asked[:40], config=config, policy=policy)


def test_the_year_reviews_trains_and_decides_by_the_products_own_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulated = an_installation(monkeypatch)
    rules_f1, _mrr = year.f1_of(simulated.unreviewed, None)
    first, second = simulated.live()

    assert 300 <= first.labels < 320
    assert 600 <= second.labels < 640
    wrong = [
        row.label != simulated.cards[row.label_id][0].labels[int(row.candidate)] for row in simulated.labels
    ]
    assert 0.02 < np.mean(wrong) < 0.09
    blind = [row for row in simulated.labels if row.blind]
    assert 0.1 < len(blind) / len(simulated.labels) < 0.5
    assert all((row.chance is not None) is row.blind for row in simulated.labels)
    # Those drawn stand for all candidates of the questions asked.
    assert sum(1 / row.chance for row in blind if row.chance) == pytest.approx(20 * simulated.asked, rel=0.25)
    assert {row.source for row in simulated.labels} == {LabelSource.APPROVE, LabelSource.OVERRIDE}
    sides = QuestionSides.of(one.question for one in simulated.questions[: simulated.asked])
    assert all(sides.side(text) is Side.TRAINING for text in simulated.trained)
    assert {one.question for one in simulated.unreviewed}.isdisjoint(row.question for row in simulated.labels)
    assert "deployed" in (first.outcome, second.outcome), (first.reason, second.reason)
    assert second.serves_f1 > rules_f1
    assert year.table([first, second]).count("\n") == 3


def test_more_blind_cards_bring_the_first_deployment_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = an_installation(monkeypatch)
    lived = list(year_chances.months_reviewed(simulated, months=2))

    few, many = (
        year_chances.chances(lived, share=share, policy=simulated.policy, redraws=10) for share in (0.04, 0.9)
    )

    asked = simulated.questions[: simulated.asked]
    assert len(lived[0].cards) < len(lived[1].cards) == sum(len(one.labels) for one in asked)
    assert all(month.unseen_f1 > 0 for month in lived)
    assert (
        np.mean(few.differ[2])
        < np.mean(many.differ[2])
        <= (year_chances.differing(lived[1].champion, lived[1].challenger))
    )
    assert few.by(1) <= few.by(2)
    assert few.by(1) < many.by(1)
    evenly = year_chances.chances(
        lived, share=0.04, policy=simulated.policy, near_bar=False, exchanged=True, redraws=10
    )
    assert np.mean(evenly.differ[2]) < np.mean(few.differ[2])
    assert evenly.by(2) <= 0.2


def test_the_year_is_drawn_as_well_formed_svg_for_light_and_dark(monkeypatch: pytest.MonkeyPatch) -> None:
    months = [
        {"month": n, "outcome": outcome, "low": low, "high": high, "champion_f1": 0.4, "challenger_f1": 0.5,
         "serves": "v2", "serves_f1": 0.3 + n / 50}
        for n, outcome, low, high in ((1, "refused", None, None), (2, "deployed", 0.02, 0.2), (3, "kept", -0.1, 0.3))
    ]  # fmt: skip
    for theme in year_plot.THEMES.values():
        picture = year_plot.drawn({"rules_f1": 0.31, "rules_mrr": 0.5, "months": months}, theme)
        texts = [
            element.text for element in ElementTree.fromstring(picture).iter() if element.tag.endswith("text")
        ]
        assert {"v2", "×", "the rules", "what serves", "● deployed"} <= set(texts)
        assert picture.count("<circle") == 3, "one where it serves, two gains"


def test_answerability_is_fitted_so_that_one_answerable_question_in_ten_lies_below_the_bar() -> None:
    rng = np.random.default_rng(3)

    def a_set(count: int) -> list[answerability.Sample]:
        near, far = rng.normal(0.55, 0.1, (count, 2)), rng.normal(0.35, 0.1, (count, 2))
        return [
            *(answerability.Sample(answerability.ANSWERABLE, *row) for row in near.tolist()),
            *(answerability.Sample("absent", *row) for row in far.tolist()),
        ]

    sets = {name: a_set(200) for name in ("one", "two", "three")}
    fit = answerability.fitted(sets)
    assert (fit.weights > 0).all()
    shares = {(name, kind): share for name, kind, share, _ in answerability.held_out(sets)}
    for name in sets:
        assert 0.04 < shares[name, answerability.ANSWERABLE] < 0.16
        assert shares[name, "absent"] > 0.6


def test_the_fewest_that_hold_a_promise_over_all_sets_are_kept() -> None:
    def losses(needed: int) -> unseen.Losses:
        lost = np.array([[float(limit < needed)] * 40 for limit in unseen.LIMITS])
        return unseen.Losses(lost, np.ones_like(lost), tuple(map(str, range(40))))

    sets = {"short": losses(3), "long": losses(20)}
    assert unseen.first_limit(sets, 0.05) == unseen.LIMITS.index(20)
    assert unseen.first_limit(sets, 0.6) == 0
    assert unseen.first_limit(sets, 0.01) is None
    told = {figure.what: figure for figure in unseen.figures(sets)}
    assert told["long: lost unseen, as shipped"].value == 1.0
    assert told["5% promised: cards a question"].beside == "at most 20 kept"


def test_a_crowded_search_is_told_beside_the_same_one_alone() -> None:
    alone = crowded.Search(1.0, (2.0, 3.0), (10.0, 12.0), strangers=0)
    beside_others = crowded.Search(0.9, (6.0, 8.0), (11.0, 13.0), strangers=500)
    told = {figure.what: figure for figure in crowded.figures(alone, beside_others, passages=50)}
    assert told["50 passages, alone: found"].is_met is None
    assert told["50 passages, crowded: found"].is_met is False
    ratio = told["p50 crowded over alone"]
    assert (ratio.value, ratio.beside) == (3.0, "an embedding 1.10 x")
