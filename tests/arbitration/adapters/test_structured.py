"""JSON schemas as sent, and answers as validated."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel

from arbitration.adapters.structured import looks_like_refusal, parse_answer, strict_schema
from arbitration.capped import MOST_CHARACTERS, MOST_OF_A_REPLY
from arbitration.contracts import ArbiterOutput, DecidedBy
from arbitration.errors import LLMFailure
from arbitration.strategies.base import Verdict


class Inner(BaseModel):
    title: str = "none"
    score: int = Field(default=0, ge=0, le=9)


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    inner: Inner = Field(default_factory=Inner, description="what is inside")
    default: str | None = None
    many: list[Inner] = Field(default_factory=list)


def _objects(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, list):
        return [found for item in node for found in _objects(item)]
    if not isinstance(node, dict):
        return []
    here = [node] if isinstance(node.get("properties"), dict) and node.get("type") == "object" else []
    return here + [found for value in node.values() for found in _objects(value)]


@pytest.mark.parametrize("model", [Outer, ArbiterOutput])
def test_a_strict_schema_requires_everything_and_allows_nothing_else(model: type[BaseModel]) -> None:
    schema, strict = strict_schema(model)

    assert strict
    found = _objects(schema)
    assert len(found) >= 2
    assert all(item["required"] == list(item["properties"]) for item in found)
    assert all(item["additionalProperties"] is False for item in found)
    assert '"default":' not in json.dumps(
        {key: value for key, value in schema.items() if key != "properties"}
    )


def test_properties_named_like_keywords_survive() -> None:
    schema, _ = strict_schema(Outer)

    assert list(schema["properties"]) == ["inner", "default", "many"]
    assert list(schema["$defs"]["Inner"]["properties"]) == ["title", "score"]
    assert schema["properties"]["inner"] == {"$ref": "#/$defs/Inner"}


def test_open_maps_and_anything_are_not_strict() -> None:
    class Anything(BaseModel):
        value: dict[str, Any]

    assert strict_schema(RootModel[dict[str, int]])[1] is False
    assert strict_schema(Anything)[1] is False
    assert strict_schema(RootModel[list[int]])[1] is False


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    value: int


@pytest.mark.parametrize(
    "text",
    [
        '{"value": 3}',
        ' \n{"value":3}\n',
        '```json\n{"value": 3}\n```',
        'Sure! Here it is: {"value": 3}. Anything else?',
        'As [1] says: {"value": 3}',
        'I think {so}. {"value": 3}',
        '{"value": 3}\n{"value": 3}',
        '<think>{"value": 4}</think>{"value": 3}',
    ],
)
def test_the_answer_is_found(text: str) -> None:
    assert parse_answer(text, Answer) == Answer(value=3)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("", "unparseable"),
        ("three", "unparseable"),
        ('{"value": 3', "unparseable"),
        ("[" * 100_000, "unparseable"),
        ("{" * 100_000, "unparseable"),
        ('{"value": "many"}', "wrong_schema"),
        ('{"value": 3, "more": 1}', "wrong_schema"),
        ("[3]", "wrong_schema"),
        ('{"value": 3} or {"value": 4}', "wrong_schema"),
        ("I'm sorry, but I can't help with that.", "refused"),
        ("Lo siento, pero no puedo ayudar con eso.", "refused"),
    ],
)
def test_what_is_no_answer_has_an_outcome(text: str, outcome: str) -> None:
    with pytest.raises(LLMFailure) as caught:
        parse_answer(text, Answer)
    assert caught.value.outcome == outcome


def test_the_message_says_where_and_repeats_no_value() -> None:
    with pytest.raises(LLMFailure) as caught:
        parse_answer('{"value": "confidential words", "a key of confidential words": 1}', Answer)

    assert "value (int_parsing)" in caught.value.message
    assert "confidential" not in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that request.",
        "I’m sorry, I can’t help with that.",
        "I cannot assist with this.",
        "Sorry, I am unable to answer that.",
        "As an AI, I cannot provide legal advice.",
        "Unfortunately, I won't be able to answer this.",
    ],
)
def test_refusals_are_recognised(text: str) -> None:
    assert looks_like_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "The tenant cannot provide a guarantor after the date.",
        "Sorry clauses are listed in annex B.",
        "I can help: the answer is ten years.",
        "No. The document says nothing about assistance.",
        "Unfortunately, the supplier was late; the contract then ends.",
    ],
)
def test_ordinary_answers_are_not_refusals(text: str) -> None:
    assert not looks_like_refusal(text)


@given(st.text())
def test_any_text_is_an_answer_or_a_failure(text: str) -> None:
    outcome = "answered"
    try:
        parse_answer(text, Answer)
    except LLMFailure as failure:
        outcome = failure.outcome

    assert outcome in ("answered", "unparseable", "wrong_schema", "refused")


@given(st.integers(), st.text(alphabet=st.characters(exclude_characters="{}[]<>")), st.text("abc .,\n"))
def test_an_answer_is_found_between_any_words(value: int, before: str, after: str) -> None:
    text = f"{before}{Answer(value=value).model_dump_json()}{after}"

    assert parse_answer(text, Answer) == Answer(value=value)


def test_a_text_that_is_too_long_is_cut_and_the_answer_is_kept() -> None:
    long = "word " * MOST_CHARACTERS
    ranking = {"candidate_id": "p1_l1_l2", "role": "primary", "reason": long, "counter_argument": long}

    answer = parse_answer(json.dumps({"rankings": [ranking]}), ArbiterOutput)

    (found,) = answer.rankings
    assert found.role == "primary"
    for text in (found.reason, found.counter_argument or ""):
        assert len(text) <= MOST_CHARACTERS
        assert long.startswith(text.removesuffix("…"))
        assert text.endswith("…")


def test_a_verdict_holds_no_longer_text_whichever_way_it_came() -> None:
    verdict = Verdict(
        candidate_id="p1_l1_l2",
        role=None,
        reason="r" * 100_000,
        counter_argument="c" * 100_000,
        decided_by=DecidedBy(kind="undecided", name="nobody"),
    )

    assert (len(verdict.reason), len(verdict.counter_argument or "")) == (MOST_CHARACTERS, MOST_CHARACTERS)


def test_a_reply_that_is_too_long_as_a_whole_is_not_read() -> None:
    with pytest.raises(LLMFailure) as caught:
        parse_answer(json.dumps({"value": 1}) + " " * MOST_OF_A_REPLY, Answer)

    assert caught.value.outcome == "unparseable"


def test_thinking_that_is_never_closed_stays_and_hides_no_answer() -> None:
    text = f"<think>{{}}</think><think>one {Answer(value=3).model_dump_json()}"

    assert parse_answer(text, Answer) == Answer(value=3)
