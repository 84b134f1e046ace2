"""JSON of strangers is read to a bounded depth, in linear time."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration import bounded_json
from arbitration.bounded_json import MAX_DEPTH, TooDeep

#: Two thousand times as deep as is allowed, and as long as an upload may be.
DEEP = 200_000


def nested(depth: int, opening: str = "[", closing: str = "]") -> str:
    return opening * depth + closing * depth


@pytest.mark.parametrize(
    "text",
    [
        "[" * DEEP,
        nested(DEEP),
        '{"a":' * DEEP,
        '{"a":' * DEEP + "1" + "}" * DEEP,
        '{"note": "' + "x" * DEEP + '", "rows": ' + nested(DEEP) + "}",
        '["\\\\", ' + nested(DEEP) + "]",
        nested(MAX_DEPTH + 1),
    ],
)
@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_what_nests_too_deeply_is_refused_before_it_is_built(text: str, encoding: str | None) -> None:
    with pytest.raises(TooDeep):
        bounded_json.loads(text if encoding is None else text.encode(encoding))


@pytest.mark.parametrize(
    "text",
    [
        nested(MAX_DEPTH),
        "[" + ",".join(["[]"] * DEEP) + "]",  # wide, not deep
        json.dumps("[" * DEEP),
        json.dumps({'"' + "{" * DEEP: '\\" [' * DEEP}),
    ],
)
def test_width_and_text_are_no_depth(text: str) -> None:
    assert bounded_json.loads(text) == json.loads(text)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('"\\[]{}ab'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('"\\[]{}ab'), inner),
    max_leaves=40,
)


def depth_of(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


@given(_VALUES, st.booleans())
def test_the_depth_is_that_of_the_value(value: object, is_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii)
    depth = depth_of(value)
    assert bounded_json.loads(text, max_depth=depth) == value
    # With few brackets nobody need look at their order, so a shallow bound is asked of a text with many.
    if depth:
        many = f"[{text}, {'[],' * 80} []]"
        with pytest.raises(TooDeep):
            bounded_json.loads(many, max_depth=depth)


@pytest.mark.parametrize("text", ["", "[", '{"a"', "[1,]", '"', "nul"])
def test_other_bad_text_is_the_readers_own_error(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        bounded_json.loads(text)
