"""The cross-encoder of a folder: scores in order, long texts cut, folders without one refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from arbitration.adapters.onnx_embedder import EmbedderUnavailable, OnnxEmbedder
from arbitration.adapters.onnx_reranker import OnnxReranker, reranker_of

from .tiny_onnx import write_cross_encoder

WEIGHTS = {"kept": 2.0, "months": 1.0, "lunch": -3.0}
PASSAGES = [
    "lunch is at noon",
    "records are kept for months",
    "nothing of that",
    "\ud800 " * 600,
    "kept " * 2000,
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_cross_encoder(tmp_path / "tiny", WEIGHTS)


def test_scores_are_probabilities_in_the_order_of_the_passages(folder: Path) -> None:
    scores = OnnxReranker(folder).scores("how long", PASSAGES)
    assert scores[:4] == pytest.approx([0.0474, 0.9526, 0.5, 0.5], abs=1e-3)
    assert 0.99 < scores[4] <= 1
    assert OnnxReranker(folder).scores("how long", []) == []


def test_of_two_outputs_the_second_says_yes(tmp_path: Path, folder: Path) -> None:
    two = write_cross_encoder(tmp_path / "two", WEIGHTS, outputs=2)
    assert OnnxReranker(two).scores("how long", PASSAGES) == pytest.approx(
        OnnxReranker(folder).scores("how long", PASSAGES)
    )


def test_it_is_named_after_folder_and_file_and_loaded_once(folder: Path) -> None:
    one = reranker_of(folder)
    assert one is reranker_of(folder)
    name, _at, checksum = one.name.partition("@")
    assert (name, len(checksum)) == ("tiny", 8)


@pytest.mark.parametrize("lacking", ["model.onnx", "tokenizer.json"])
def test_a_folder_that_lacks_a_file_is_refused(folder: Path, lacking: str) -> None:
    (folder / lacking).unlink()
    with pytest.raises(EmbedderUnavailable):
        OnnxReranker(folder)


def test_an_encoder_of_sentences_is_none(tmp_path: Path) -> None:
    folder = write_cross_encoder(tmp_path / "wide", WEIGHTS, outputs=3)
    assert OnnxEmbedder.from_folder(folder).width == 3
    with pytest.raises(EmbedderUnavailable, match="use a cross-encoder"):
        OnnxReranker(folder)
