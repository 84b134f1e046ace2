"""What a model rejects beside the few that it keeps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from arbitration.contracts import DecidedBy, Role
from arbitration.displacement import find_displacement
from arbitration.strategies.base import Verdict

MODEL = DecidedBy(kind="llm", name="fake")
ACCEPTED, DOUBTED, NOISE = 0.9, 0.5, 0.1


def rejected_for_a_person(
    roles: Mapping[str, str],
    scores: Mapping[str, float],
    *,
    by: DecidedBy = MODEL,
    groups: Sequence[Collection[str]] = (),
) -> list[str]:
    """The candidates that go to a person, where the bars are .2 and .8."""
    verdicts = [
        Verdict(candidate_id=name, role=Role(role), reason="said", decided_by=by)
        for name, role in roles.items()
    ]
    found = find_displacement(
        verdicts,
        above_noise=lambda name: scores[name] > 0.2,
        accepts=lambda name: scores[name] >= 0.8,
        groups=groups,
    )
    marked = [verdict for verdict in found.marked(verdicts) if verdict.needs_person]
    assert all(verdict.needs_person_reasons[0].startswith("displaced: ") for verdict in marked)
    assert found.artefacts == ({"displaced": str(len(marked))} if marked else {})
    assert len(found.notes) == bool(marked)
    return [verdict.candidate_id for verdict in marked]


def test_an_accepted_passage_that_is_kept_alone_loses_nobody_above_the_noise() -> None:
    roles = {"carrier": "primary", "answer": "discarded", "other": "tangential", "noise": "discarded"}
    scores = {"carrier": ACCEPTED, "answer": DOUBTED, "other": DOUBTED, "noise": NOISE}
    assert rejected_for_a_person(roles, scores) == ["answer", "other"]


def test_where_several_passages_agree_none_displaces() -> None:
    roles = {"a": "primary", "b": "primary", "c": "supporting", "d": "discarded"}
    assert rejected_for_a_person(roles, dict.fromkeys("abc", ACCEPTED) | {"d": DOUBTED}) == []


def test_a_kept_passage_that_nothing_accepts_casts_doubt_whatever_else_is_kept() -> None:
    roles = {"a": "primary", "b": "primary", "c": "primary", "d": "discarded"}
    scores = {"a": ACCEPTED, "b": ACCEPTED, "c": NOISE, "d": DOUBTED}
    assert rejected_for_a_person(roles, scores) == ["d"]


def test_a_passage_reaches_those_of_its_own_call() -> None:
    roles = {"carrier": "primary", "answer": "discarded", "a": "primary", "b": "primary", "c": "discarded"}
    scores = dict.fromkeys(("carrier", "a", "b"), ACCEPTED) | {"answer": DOUBTED, "c": DOUBTED}
    assert rejected_for_a_person(roles, scores) == []
    groups = ({"carrier", "answer"}, {"a", "b", "c"})
    assert rejected_for_a_person(roles, scores, groups=groups) == ["answer", "c"]


def test_rules_and_scores_are_talked_into_nothing() -> None:
    roles = {"carrier": "primary", "answer": "discarded"}
    by = DecidedBy(kind="rule", name="rules")
    assert rejected_for_a_person(roles, {"carrier": ACCEPTED, "answer": DOUBTED}, by=by) == []


def test_where_nothing_is_kept_the_not_found_is_for_a_person_anyway() -> None:
    assert rejected_for_a_person({"a": "discarded", "b": "tangential"}, {"a": DOUBTED, "b": DOUBTED}) == []
