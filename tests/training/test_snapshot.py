from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arbitration.evaluation.question_groups import NearDuplicateIndex
from tests.training.makers import examples, question
from training.snapshot import Dataset, QuestionSides, Side, build_snapshot


def test_about_a_tenth_of_the_questions_is_held_out() -> None:
    sides = QuestionSides.of(question(n) for n in range(2000))

    held_out = sum(sides.side(question(n)) is Side.HOLDOUT for n in range(2000))

    assert 150 < held_out < 250


def test_the_side_is_known_before_any_label_and_never_depends_on_later_questions() -> None:
    alone = QuestionSides.of([question(3)])
    among_many = QuestionSides.of(question(n) for n in range(500))

    assert alone.side(question(3)) is among_many.side(question(3))


def test_another_wording_joins_the_group() -> None:
    first = "Within how many days of the invoice must the tenant pay the rent to the landlord?"
    again = "Within how many days of an invoice must a tenant pay the rent to the landlord?"
    sides = QuestionSides.of([first, again])

    assert sides.group(first) == sides.group(again)
    assert sides.side(first) is sides.side(again)


def test_the_salt_draws_another_holdout() -> None:
    one, two = (QuestionSides.of((question(n) for n in range(300)), salt=salt) for salt in ("a", "b"))

    assert {n for n in range(300) if one.side(question(n)) is Side.HOLDOUT} != {
        n for n in range(300) if two.side(question(n)) is Side.HOLDOUT
    }


# Questions of ten words, of which few differ: near-duplicates and chains of them are common.
_WORDS = [f"w{n}" for n in range(13)]
histories = st.lists(
    st.lists(st.sampled_from(_WORDS), min_size=10, max_size=10, unique=True).map(" ".join),
    min_size=1,
    max_size=25,
)


@given(histories, st.randoms())
def test_no_holdout_question_or_near_duplicate_of_one_ever_trains(history: list[str], random: object) -> None:
    sides = QuestionSides(holdout_share=0.3)
    ever_held_out: set[str] = set()
    known: list[str] = []
    for asked in history:
        sides.add(asked)
        known = list(dict.fromkeys([*known, asked]))
        ever_held_out |= {text for text in known if sides.side(text) is Side.HOLDOUT}
        template = examples(1, pairs=1)[0]
        labelled = [
            type(template)(
                label_id=str(n), question=text, role=template.role, weight=1.0, features=template.features
            )
            for n, text in enumerate(random.sample(known, k=len(known)))  # type: ignore[attr-defined]
        ]

        snapshot = build_snapshot(labelled, sides=sides, feature_version=2)

        index = NearDuplicateIndex()
        for text in ever_held_out:
            index.add(text)
        for text in set(snapshot.training.questions):
            assert text not in ever_held_out
            assert all(position >= len(ever_held_out) for position in index.add(text))


@given(histories)
def test_a_question_once_held_out_stays_so(history: list[str]) -> None:
    sides = QuestionSides(holdout_share=0.3)
    held_out: set[str] = set()
    known: set[str] = set()
    for asked in history:
        sides.add(asked)
        known.add(asked)
        now = {text for text in known if sides.side(text) is Side.HOLDOUT}
        assert held_out <= now
        held_out = now


def test_labels_of_holdout_questions_are_counted_and_left_out() -> None:
    made = examples(100, pairs=3)
    sides = QuestionSides.of(example.question for example in made)

    snapshot = build_snapshot(made, sides=sides, feature_version=2)

    held_out = {example.question for example in made if sides.side(example.question) is Side.HOLDOUT}
    assert snapshot.held_out == 3 * len(held_out) > 0
    assert held_out.isdisjoint(snapshot.training.questions)
    assert len(snapshot.training) == 300 - snapshot.held_out


def test_benchmark_questions_and_their_like_never_train() -> None:
    made = examples(40, pairs=2)
    sides = QuestionSides.of(example.question for example in made)
    trained = build_snapshot(made, sides=sides, feature_version=2).training.questions[0]

    snapshot = build_snapshot(
        made, sides=sides, feature_version=2, excluded_questions=[trained.upper() + "?", "What else?"]
    )

    assert trained not in snapshot.training.questions
    assert snapshot.excluded == 2


def test_the_content_names_the_snapshot() -> None:
    made = examples(20)
    sides = QuestionSides.of(example.question for example in made)

    def snapshot_hash(rows: list, version: int = 2) -> str:  # type: ignore[type-arg]
        return build_snapshot(rows, sides=sides, feature_version=version).content_hash

    assert snapshot_hash(made) == snapshot_hash(list(reversed(made)))
    assert snapshot_hash(made) != snapshot_hash(made, version=3)
    assert snapshot_hash(made) != snapshot_hash(made[:-1])


def test_a_data_set_of_nothing_is_empty() -> None:
    assert len(Dataset.of([])) == 0
