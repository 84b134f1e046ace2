"""``import arbitration``: files in, roles and reasons out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import arbitration
from arbitration import (
    Arbiter,
    ArbitrationError,
    Endpoint,
    Finding,
    InMemoryStore,
    ParseFailure,
    Place,
    Role,
    StoredDocument,
    StrategyUnavailable,
    read_file,
)
from arbitration.features import FEATURE_VERSION
from tests.arbitration.demo_files import CONTRACT, REGULATION, write_demo_files
from tests.fake_llm import FakeLLM

pytest_plugins = ["tests.fake_llm.plugin"]

QUESTION = "Who appoints the responsible officer?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_demo_files(folder)
    return folder


@pytest.fixture(scope="module")
def arbiter(folder: Path) -> Arbiter:
    return Arbiter.from_files(folder / REGULATION, folder / CONTRACT)


def test_files_come_as_a_list_too(folder: Path) -> None:
    listed = Arbiter.from_files([folder / CONTRACT], embedder=None)
    assert listed.ask("Who appoints the responsible officer?").candidates
    with pytest.raises(ValueError, match="Name at least one file"):
        Arbiter.from_files([])


@pytest.fixture(scope="module")
def finding(arbiter: Arbiter) -> Finding:
    return arbiter.ask(QUESTION)


@pytest.fixture(scope="module")
def contract(folder: Path) -> StoredDocument:
    return StoredDocument("d1", CONTRACT, read_file(folder / CONTRACT))


# --- what comes back --------------------------------------------------------------------------------


def test_a_real_pdf_gives_roles_reasons_and_places(finding: Finding) -> None:
    best = finding.candidates[0]

    assert best.role is Role.PRIMARY
    assert best.reason
    assert best.place.document == REGULATION
    assert best.section == "Article 6: Responsible officer"
    assert "appoints a member of senior management" in best.text.replace("\n", " ")
    assert best.probability is not None
    assert 0 < best.probability <= 1
    assert best in finding.evidence


def test_the_discarded_are_there_too_with_their_reasons(finding: Finding) -> None:
    discarded = [candidate for candidate in finding.candidates if candidate.role is Role.DISCARDED]

    assert discarded
    assert all(candidate.reason for candidate in discarded)
    assert not any(candidate in finding.evidence for candidate in discarded)
    assert len(finding.candidates) == len(finding.audit.provenances)


def test_each_sentence_of_the_answer_leads_to_its_passage(finding: Finding) -> None:
    assert finding.answer.sentences
    for sentence in finding.answer.sentences:
        for citation in sentence.citations:
            source = finding.candidate(citation.candidate_id)
            assert source.place.document == citation.document_name
            assert sentence.text.split()[0] in source.text
    with pytest.raises(KeyError):
        finding.candidate("p99_l1_l1")


def test_a_finding_survives_json(finding: Finding) -> None:
    assert Finding.model_validate_json(finding.model_dump_json()) == finding


def test_what_no_word_matches_is_said_to_be_no_strong_match(arbiter: Arbiter) -> None:
    finding = arbiter.ask("Which helicopters does the zoo operate?")

    assert finding.no_strong_match
    assert finding.needs_review
    assert finding.evidence == ()


def test_what_is_nowhere_is_not_found(contract: StoredDocument) -> None:
    finding = Arbiter.from_documents([contract], embedder="none").ask("Does it mention helicopters?")

    assert finding.not_found
    assert (finding.not_found_reason or "").startswith("no_keyword_match")
    assert finding.evidence == ()
    assert finding.confidence == 0


def test_a_place_in_words() -> None:
    lines = {"line_start": 3, "line_end": 5}

    assert str(Place(document="a.pdf", page_start=2, page_end=2, **lines)) == "a.pdf, p. 2, lines 3-5"
    assert str(Place(document="a.pdf", page_start=2, line_start=3, page_end=2, line_end=3)).endswith(
        "p. 2, line 3"
    )
    assert (
        str(Place(document="a.pdf", page_start=2, page_end=3, **lines))
        == "a.pdf, p. 2, line 3 to p. 3, line 5"
    )


def test_words_alone_are_searched_without_an_encoder(contract: StoredDocument) -> None:
    finding = Arbiter.from_documents([contract], embedder="none").ask("When are invoices paid?")

    assert "embedding" in finding.audit.methods_skipped
    assert finding.evidence


# --- strategies and models --------------------------------------------------------------------------


def test_a_strategy_that_asks_a_model_asks_the_endpoint(contract: StoredDocument, fake_llm: FakeLLM) -> None:
    endpoint = Endpoint(name="fake", base_url=fake_llm.base_url, model="fake-model")

    with Arbiter.from_documents([contract], embedder="none", endpoint=endpoint) as arbiter:
        finding = arbiter.ask("When are invoices paid?", strategy="arbiter")

    assert {candidate.decided_by.kind for candidate in finding.candidates} == {"llm"}
    assert finding.llm_calls > 0


def test_a_strategy_that_asks_none_sends_nothing(contract: StoredDocument, fake_llm: FakeLLM) -> None:
    endpoint = Endpoint(name="fake", base_url=fake_llm.base_url, model="fake-model")

    Arbiter.from_documents([contract], embedder="none", endpoint=endpoint).ask("When are invoices paid?")

    assert fake_llm.requests == []


@dataclass
class _AlwaysSure:
    """A scorer that holds everything for evidence."""

    version: str = "mine"
    feature_version: int = FEATURE_VERSION
    threshold: float = 0.5

    def probabilities(self, features: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.full(len(features), 0.9)


def test_a_reranker_of_ones_own_takes_the_estimates_place(contract: StoredDocument) -> None:
    finding = Arbiter.from_documents([contract], embedder="none", scorer=_AlwaysSure()).ask(
        "When are invoices paid?"
    )

    assert {candidate.probability for candidate in finding.candidates} == {0.9}
    assert {candidate.decided_by.version for candidate in finding.candidates} == {"mine"}


def test_strategies_are_listed_with_what_they_do() -> None:
    described = Arbiter.strategies()

    assert {"offline", "arbiter", "r-flow", "consensus", "pointwise", "multi-criteria"} <= set(described)
    assert all(described.values())


# --- errors say what to do --------------------------------------------------------------------------


def _asked(strategy: str) -> Callable[[Path, StoredDocument], object]:
    return lambda _, contract: Arbiter.from_documents([contract], embedder="none").ask(
        "Why?", strategy=strategy
    )


def _dead_endpoint(_: Path, contract: StoredDocument) -> object:
    endpoint = Endpoint(name="dead", base_url="http://127.0.0.1:9/v1", model="m")
    return Arbiter.from_documents([contract], embedder="none", endpoint=endpoint).ask(
        "Why?", strategy="arbiter"
    )


def _unknown_embedder(_: Path, contract: StoredDocument) -> object:
    return Arbiter.from_documents([contract], embedder="best")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cause", "error", "says"),
    [
        (lambda folder, _: Arbiter.from_files(folder / "gone.pdf"), ParseFailure, "gone.pdf does not exist"),
        (lambda folder, _: Arbiter.from_files(folder), ParseFailure, "is a folder; name the files in it"),
        (lambda folder, _: Arbiter.from_files(folder / "odd.xyz"), ParseFailure, "odd.xyz: "),
        (lambda _, contract: Arbiter.from_files(), ValueError, "at least one file"),
        (_asked("guess"), StrategyUnavailable, "choose one of offline"),
        (_asked("arbiter"), StrategyUnavailable, "give Arbiter an endpoint"),
        (_asked("semantic+gates"), StrategyUnavailable, "encoder"),
        (_asked("r-flow-mlp"), StrategyUnavailable, "give Arbiter a scorer"),
        (_dead_endpoint, StrategyUnavailable, "Check base_url, model and api_key"),
        (_unknown_embedder, ArbitrationError, "no embedder 'best'"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(
    folder: Path,
    contract: StoredDocument,
    cause: Callable[[Path, StoredDocument], object],
    error: type[Exception],
    says: str,
) -> None:
    (folder / "odd.xyz").write_bytes(b"odd")

    with pytest.raises(error) as caught:
        cause(folder, contract)

    assert says in str(caught.value)


def test_an_encrypted_file_asks_for_its_password(tmp_path: Path) -> None:
    from reportlab.pdfgen.canvas import Canvas

    path = tmp_path / "closed.pdf"
    canvas = Canvas(str(path), encrypt="opensesame")
    canvas.drawString(72, 720, "The board appoints the responsible officer every two years.")
    canvas.save()

    with pytest.raises(ParseFailure, match=r"passwords=.\"closed.pdf\""):
        Arbiter.from_files(path, embedder="none")
    arbiter = Arbiter.from_files(path, embedder="none", passwords={"closed.pdf": "opensesame"})
    assert "every two years" in arbiter.ask(QUESTION).candidates[0].text


# --- import and store -------------------------------------------------------------------------------


def test_the_import_costs_nothing() -> None:
    script = "import sys, arbitration; print(sorted({'numpy', 'pydantic', 'openai'} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    assert sorted(arbitration._HOMES) == sorted(arbitration.__all__)
    assert all(getattr(arbitration, name) is not None for name in arbitration.__all__)
    assert set(arbitration.__all__) <= set(dir(arbitration))
    with pytest.raises(AttributeError, match="no attribute 'Oracle'"):
        arbitration.Oracle  # noqa: B018


class _Raced(InMemoryStore):
    """Whatever matcher it keeps, another thread puts its own in the place at once."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, {} if name == "_matchers" else value)


def test_threads_may_ask_one_store_different_things(contract: StoredDocument) -> None:
    """A matcher was lost between two detectors that asked at once."""
    assert (
        _Raced([contract]).lines_with(["invoice"]) == InMemoryStore([contract]).lines_with(["invoice"]) != []
    )


def test_the_store_makes_its_vectors_before_the_first_question(contract: StoredDocument) -> None:
    encoded: list[int] = []

    class Counting:
        space, width = "counting", 4

        def embed(self, texts: list[str]) -> npt.NDArray[np.float32]:
            encoded.append(len(texts))
            return np.full((len(texts), 4), 0.5, dtype=np.float32)

    arbiter = Arbiter.from_documents([contract], embedder=Counting())  # type: ignore[arg-type]

    assert encoded == [len(contract.parsed.passages)]
    arbiter.ask("When are invoices paid?")
    assert encoded[0] not in encoded[1:]  # the question only
