from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arbitration.contracts import Role
from tests.training.makers import ids, label
from training.labels import LabelSource, one_per_candidate, resolve

ADJUDICATED, OVERRIDE, APPROVE, ANNOTATOR, LLM = LabelSource


def test_authority() -> None:
    order = [LLM, ANNOTATOR, APPROVE, ADJUDICATED]

    assert [source.authority for source in order] == sorted({source.authority for source in order})
    assert OVERRIDE.authority == APPROVE.authority
    assert [source.is_human for source in LabelSource] == [True, True, True, True, False]
    assert LLM.weight < min(source.weight for source in LabelSource if source.is_human)


def test_the_highest_authority_wins_whenever_it_came() -> None:
    judged = [
        label(ADJUDICATED, Role.DISCARDED, minute=1),
        label(OVERRIDE, Role.PRIMARY, minute=5),
        label(LLM, Role.PRIMARY, minute=9),
    ]

    resolution = resolve(judged)

    assert ids(resolution.winners) == ["adjudicated-ana-1"]
    assert resolution.overruled == {"override-ana-5": "adjudicated-ana-1", "llm-ana-9": "adjudicated-ana-1"}


def test_the_later_of_two_reviewers_wins() -> None:
    judged = [label(OVERRIDE, judge="ana", minute=1), label(APPROVE, Role.TANGENTIAL, judge="ben", minute=2)]

    assert ids(resolve(judged).winners) == ["approve-ben-2"]


def test_annotators_who_disagree_train_nothing_until_adjudicated() -> None:
    apart = [
        label(ANNOTATOR, Role.PRIMARY, judge="ana"),
        label(ANNOTATOR, Role.DISCARDED, judge="ben"),
        label(LLM, Role.PRIMARY, judge="model"),
    ]

    disputed = resolve(apart)
    settled = resolve([*apart, label(ADJUDICATED, Role.SUPPORTING, judge="cleo", minute=9)])

    assert disputed.winners == ()
    assert len(disputed.disputed) == 2
    assert ids(settled.winners) == ["adjudicated-cleo-9"]


def test_annotators_may_differ_in_shade() -> None:
    judged = [
        label(ANNOTATOR, Role.PRIMARY, judge="ana"),
        label(ANNOTATOR, Role.SUPPORTING, judge="ben", minute=1),
    ]

    assert ids(resolve(judged).winners) == ["annotator-ben-1"]


def test_a_person_who_corrects_herself_does_not_disagree_with_herself() -> None:
    judged = [label(ANNOTATOR, Role.PRIMARY, minute=1), label(ANNOTATOR, Role.DISCARDED, minute=2)]

    resolution = resolve(judged)

    assert ids(resolution.winners) == ["annotator-ana-2"]
    assert resolution.disputed == ()


def test_the_same_question_in_other_words_case_is_one_pair() -> None:
    judged = [label(LLM, question="Who pays?"), label(ANNOTATOR, question="who PAYS", minute=1)]

    assert ids(resolve(judged).winners) == ["annotator-ana-1"]


labels = st.lists(
    st.builds(
        label,
        st.sampled_from(list(LabelSource)),
        st.sampled_from(list(Role)),
        judge=st.sampled_from(["ana", "ben", "model"]),
        minute=st.integers(0, 1000),
        candidate=st.sampled_from(["c1", "c2"]),
    ),
    max_size=12,
    unique_by=lambda row: row.label_id,
)


@given(labels)
def test_every_label_wins_loses_or_waits(judged: list) -> None:  # type: ignore[type-arg]
    resolution = resolve(judged)

    placed = [*ids(resolution.winners), *resolution.overruled]
    waiting = {row.pair for row in resolution.disputed}
    assert len(placed) == len(set(placed))
    assert set(placed) == {row.label_id for row in judged if row.pair not in waiting}
    for winner in resolution.winners:
        assert winner.source.authority == max(r.source.authority for r in judged if r.pair == winner.pair)


@given(labels)
def test_people_always_outrank_models(judged: list) -> None:  # type: ignore[type-arg]
    for winner in resolve(judged).winners:
        if any(row.source.is_human for row in judged if row.pair == winner.pair):
            assert winner.source.is_human


def test_of_labels_of_one_candidate_authority_speaks_and_then_evidence() -> None:
    none, some = (
        label(LabelSource.ANNOTATOR, Role.DISCARDED, judge="a", minute=9),
        label(LabelSource.ANNOTATOR),
    )
    same = {none.label_id: "c", some.label_id: "c"}
    assert one_per_candidate([none, some], same) == (some,)
    assert one_per_candidate([some, none], same) == (some,)
    assert one_per_candidate([some, none], {}) == (some, none)

    reviewed = label(LabelSource.OVERRIDE, Role.DISCARDED, judge="r")
    assert one_per_candidate([some, reviewed, none], same | {reviewed.label_id: "c"}) == (reviewed,)
