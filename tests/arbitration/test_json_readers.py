"""Each reader of JSON from outside: two hundred thousand brackets are an ordinary failure of its own kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel

from arbitration.adapters import openai_embedder, openai_wire, structured
from arbitration.adapters.endpoints import Endpoint
from arbitration.errors import LLMFailure, ParseFailure
from arbitration.evaluation import labelfile
from arbitration.evaluation.records import DatasetError
from arbitration.parsing import isolation
from arbitration.strategies import pointwise

DEEP = "[" * 200_000
VALID = "[" * 50_000 + "]" * 50_000
ENDPOINT = Endpoint(name="made-up", base_url="http://127.0.0.1:9/v1", model="none")


class Answer(BaseModel):
    answer: str


def _outcome_of(call: Callable[[], object]) -> str:
    with pytest.raises(LLMFailure) as caught:
        call()
    return caught.value.outcome


@pytest.mark.parametrize("text", [DEEP, VALID, f'{{"answer": {VALID}}}', f"Here it is: {VALID}"])
def test_an_answer_of_a_model(text: str) -> None:
    assert _outcome_of(lambda: structured.parse_answer(text, Answer)) in {"unparseable", "wrong_schema"}


@pytest.mark.parametrize("text", [DEEP, VALID])
def test_an_envelope_of_a_completion(text: str) -> None:
    with pytest.raises(openai_wire.NotAnEnvelope):
        openai_wire._json_object(text)


@pytest.mark.parametrize("text", [DEEP, VALID])
def test_an_envelope_of_embeddings(text: str) -> None:
    failure = openai_embedder._read(text, count=1, endpoint=ENDPOINT).failure
    assert failure is not None
    assert failure.outcome == "unparseable"


def test_grades_of_a_model() -> None:
    assert _outcome_of(lambda: pointwise._only_object('{"c1": ' + VALID + "}")) == "unparseable"


def test_labels_and_files_of_a_data_set(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(VALID)
    with pytest.raises(DatasetError):
        list(labelfile.jsonl_records(path))
    with pytest.raises(DatasetError):
        labelfile.read_json(path)


@pytest.mark.parametrize(
    "reader", [isolation._value, lambda text: (_ for _ in ()).throw(isolation._reported(text))]
)
def test_what_the_parser_process_says(reader: Callable[[bytes], object]) -> None:
    with pytest.raises(ParseFailure) as caught:
        reader(VALID.encode())
    assert caught.value.code == "crashed"
