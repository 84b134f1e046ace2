"""Answers as odd servers send them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.adapters.endpoints import Price, Usage
from arbitration.adapters.openai_wire import NotAnEnvelope, read_chat, read_responses

KEYS = ["choices", "message", "output", "usage", "content", "logprobs", "top_logprobs", "prompt_tokens"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=8,
)


def chat(**changes: Any) -> str:
    choice = {"index": 0, "message": {"role": "assistant", "content": "ten"}, "finish_reason": "stop"}
    return json.dumps({"model": "m", "choices": [choice]} | changes)


def test_missing_usage_counts_as_nothing() -> None:
    assert read_chat(chat()).usage == Usage(0, 0, 0)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 99}},
            Usage(10, 10, 2),
        ),
        ({"prompt_tokens": -5, "completion_tokens": None}, Usage(0, 0, 0)),
        ({"prompt_tokens": "ten", "prompt_tokens_details": None}, Usage(0, 0, 0)),
        ("none", Usage(0, 0, 0)),
    ],
)
def test_odd_counts_never_make_a_cost_negative(usage: Any, expected: Usage) -> None:
    counted = read_chat(chat(usage=usage)).usage

    assert counted == expected
    assert counted.cost(Price(1.0, 0.1, 4.0)) >= 0.0


def test_cost_follows_the_price_per_million() -> None:
    used = Usage(input_tokens=1_000_000, cached_tokens=400_000, output_tokens=500_000)

    assert used.cost(Price(input=2.0, cached_input=0.5, output=8.0)) == pytest.approx(1.2 + 0.2 + 4.0)
    assert used.cost(None) == 0.0


def test_a_message_in_parts_is_one_text() -> None:
    parts = [{"type": "text", "text": "ten "}, {"type": "text", "text": "years"}]

    assert read_chat(chat(choices=[{"message": {"content": parts}}])).text == "ten years"


def test_a_failed_response_says_so() -> None:
    assert read_responses(json.dumps({"status": "failed", "output": [], "error": {"code": "x"}})).failed


def test_reasoning_items_are_no_part_of_the_answer() -> None:
    message = {"type": "message", "content": [{"type": "output_text", "text": "ten"}]}
    body = {"status": "completed", "output": [{"type": "reasoning", "summary": [{"text": "hm"}]}, message]}

    assert read_responses(json.dumps(body)).text == "ten"


def test_a_filtered_answer_is_a_refusal() -> None:
    choice = {"message": {"content": "ten"}, "finish_reason": "content_filter"}

    assert read_chat(chat(choices=[choice])).refusal


@pytest.mark.parametrize("read", [read_chat, read_responses])
@given(value=JSON, usage=JSON)
def test_any_json_is_an_answer_or_none(read: Any, value: Any, usage: Any) -> None:
    envelope = {
        "choices": [{"message": value, "logprobs": {"content": value}}],
        "output": [{"type": "message", "content": value}],
        "usage": usage,
    }
    try:
        answer = read(json.dumps(envelope))
    except NotAnEnvelope:
        return
    assert isinstance(answer.text, str)
