"""The yardstick: who may be in it, and that no model ever learned from it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from arbitration.contracts import Role
from arbitration.evaluation.question_groups import NearDuplicateIndex
from tests.training.makers import examples, ids, label, question
from training.gold import gold_dataset, gold_labels, may_be_gold
from training.labels import LabelSource
from training.snapshot import QuestionSides, Side, build_snapshot

_WORDS = [f"w{n}" for n in range(13)]
#: Questions of ten words of which few differ: near-duplicates and chains of them are common.
questions = st.lists(st.sampled_from(_WORDS), min_size=10, max_size=10, unique=True).map(" ".join)
histories = st.lists(st.tuples(questions, st.booleans()), min_size=1, max_size=20)


def test_only_people_who_were_blind_may_be_gold() -> None:
    blind = replace(label(LabelSource.ANNOTATOR), blind=True)

    assert may_be_gold(blind)
    assert not may_be_gold(label(LabelSource.APPROVE))
    assert not may_be_gold(replace(label(LabelSource.LLM), blind=True))


def test_disputed_pairs_are_no_gold_until_adjudicated() -> None:
    sides = QuestionSides()
    sides.hold_out("Who pays?")
    yes = replace(label(LabelSource.ANNOTATOR, judge="ana"), blind=True)
    no = replace(label(LabelSource.ANNOTATOR, Role.DISCARDED, judge="ben"), blind=True)
    settled = replace(label(LabelSource.ADJUDICATED, judge="eva", minute=3), blind=True)

    assert gold_labels([yes, no], sides=sides) == ()
    assert ids(gold_labels([yes, no, settled], sides=sides)) == [settled.label_id]


def test_a_gold_set_is_held_out_whatever_the_draw_says() -> None:
    sides = QuestionSides(holdout_share=0.0)
    assert sides.add(question(1)) is Side.TRAINING

    sides.hold_out(question(1))

    assert sides.add(question(1)) is Side.HOLDOUT


@given(histories)
def test_gold_and_training_never_share_a_question_over_any_history(history: list[tuple[str, bool]]) -> None:
    """Questions come one by one, some as gold sets; after each, everything is labelled, trained and measured."""
    sides = QuestionSides(holdout_share=0.3)
    known: list[str] = []
    trained: set[str] = set()
    template = examples(1, pairs=1)[0]
    for text, is_gold_set in history:
        sides.add(text)
        if is_gold_set:
            sides.hold_out(text)
        known = list(dict.fromkeys([*known, text]))
        judged = [
            replace(label(LabelSource.ANNOTATOR, question=asked), blind=True, label_id=str(number))
            for number, asked in enumerate(known)
        ]
        gold = gold_labels(judged, sides=sides, trained_questions=trained)
        snapshot = build_snapshot(
            [replace(template, label_id=row.label_id, question=row.question) for row in judged],
            sides=sides,
            feature_version=2,
        )
        trained |= set(snapshot.training.questions)
        index = NearDuplicateIndex()
        for asked in sorted(trained):
            index.add(asked)
        assert all(place >= len(trained) for row in gold for place in index.add(row.question))


def test_gold_rows_are_in_order_of_label_and_named_by_group() -> None:
    sides = QuestionSides()
    made = {example.label_id: example for example in examples(3, pairs=2)}
    for example in made.values():
        sides.hold_out(example.question)

    weights = dict.fromkeys(made, 1.0)
    data = gold_dataset(made, sides=sides, weights=weights)

    assert list(data.label_ids) == sorted(made)
    assert data.groups[0] == sides.group(made[data.label_ids[0]].question)
    assert data.digest == gold_dataset(dict(reversed(made.items())), sides=sides, weights=weights).digest
