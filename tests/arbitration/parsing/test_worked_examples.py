"""Hand-checked lines of three real documents: what they say and which section they belong to."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from arbitration.documents import Line, ParsedDocument
from arbitration.parsing.isolation import parse_isolated

pytestmark = pytest.mark.data

PAPER, FRAMEWORK, STANDARD = "1706.03762v7.pdf", "NIST.CSWP.29.pdf", "NIST.FIPS.199.pdf"


@cache
def _document(path: Path) -> ParsedDocument:
    return parse_isolated(path=path, filename=path.name)


def _parsed(shared_data: Path, name: str) -> ParsedDocument:
    return _document(shared_data / "worked_examples" / name)


def _line(document: ParsedDocument, page: int, words: str) -> Line:
    found = [line for line in document.lines if line.page_num == page and words in line.text]
    assert len(found) == 1, f"{words!r} stands on {len(found)} lines of page {page}"
    return found[0]


@pytest.mark.parametrize(
    ("name", "pages", "entries", "levels"), [(PAPER, 15, 22, 3), (FRAMEWORK, 32, 12, 2), (STANDARD, 13, 5, 1)]
)
def test_pages_and_outline(shared_data: Path, name: str, pages: int, entries: int, levels: int) -> None:
    document = _parsed(shared_data, name)
    assert (len(document.pages), len(document.sections), document.section_depth) == (pages, entries, levels)
    assert document.toc_source == "outline"
    assert all(section.start_line is not None for section in document.sections)
    assert document.language == "en"


# Read off the printed pages; every page here but two holds more than one section.
@pytest.mark.parametrize(
    ("name", "page", "words", "title"),
    [
        (PAPER, 2, "relying entirely on an attention mechanism", "Introduction"),
        (PAPER, 2, "goal of reducing sequential computation", "Background"),
        (PAPER, 2, "language modeling tasks [34]", "Background"),
        (PAPER, 2, "Most competitive neural sequence transduction", "Model Architecture"),
        (PAPER, 3, "follows this overall architecture", "Model Architecture"),
        (PAPER, 3, "produce outputs of dimension", "Encoder and Decoder Stacks"),
        (PAPER, 3, "mapping a query and a set of", "Attention"),
        (PAPER, 4, "query with the corresponding key", "Attention"),
        (PAPER, 4, "matrix multiplication code", "Scaled Dot-Product Attention"),
        (PAPER, 4, "yielding", "Multi-Head Attention"),
        (PAPER, 5, "similar to that of single-head", "Multi-Head Attention"),
        (PAPER, 5, "self-attention layers in the decoder", "Applications of Attention in our Model"),
        (PAPER, 5, "with a ReLU activation", "Position-wise Feed-Forward Networks"),
        (PAPER, 5, "share the same weight matrix", "Embeddings and Softmax"),
        (PAPER, 6, "Recurrent  O(n", "Embeddings and Softmax"),
        (PAPER, 6, "sine and cosine functions of different", "Positional Encoding"),
        (PAPER, 6, "learned positional embeddings [9]", "Positional Encoding"),
        (PAPER, 6, "Another is the amount of", "Why Self-Attention"),
        (PAPER, 7, "training regime for our models", "Training"),
        (PAPER, 7, "8 NVIDIA P100", "Hardware and Schedule"),
        (PAPER, 7, "used the Adam optimizer", "Optimizer"),
        (PAPER, 8, "we employed label smoothing", "Regularization"),
        (PAPER, 8, "establishing a new state-of-the-art BLEU", "Machine Translation"),
        (PAPER, 9, "reducing the attention key size", "Model Variations"),
        (PAPER, 10, "replacing the recurrent layers", "Conclusion"),
        (FRAMEWORK, 11, "This section defines the concepts", "3. Introduction to CSF Profiles and Tiers"),
        (FRAMEWORK, 11, "assess, prioritize, and communicate", "3.1. CSF Profiles"),
        (FRAMEWORK, 12, "Implement the action plan", "3.1. CSF Profiles"),
        (FRAMEWORK, 12, "can choose to use the Tiers", "3.2. CSF Tiers"),
        (
            FRAMEWORK,
            15,
            "essential functions while taking",
            "5. Improving Cybersecurity Risk Communication and",
        ),
        (
            FRAMEWORK,
            15,
            "fosters bidirectional information flow",
            "5.1. Improving Risk Management Communication",
        ),
        (
            FRAMEWORK,
            16,
            "faces numerous types of ICT risk",
            "5.2. Improving Integration with Other",
        ),
        (FRAMEWORK, 21, "GV.OC-01", "Appendix A. CSF Core"),
        (STANDARD, 5, "signed into law by the President", "1 purpose"),
        (STANDARD, 5, "Secretary of Commerce", "2 applicability"),
        (STANDARD, 5, "These standards shall apply to", "2 applicability"),
        (
            STANDARD,
            5,
            "categories are based on the potential",
            "3 categorization of information and",
        ),
    ],
)
def test_lines_belong_to_the_section_they_are_printed_in(
    shared_data: Path, name: str, page: int, words: str, title: str
) -> None:
    document = _parsed(shared_data, name)
    line = _line(document, page, words)
    titles = {section.section_id: section.title for section in document.sections}
    assert line.section_id is not None
    assert titles[line.section_id].startswith(title)


def test_whole_lines_of_the_paper(shared_data: Path) -> None:
    document = _parsed(shared_data, PAPER)
    page = [line.text for line in document.lines if line.page_num == 10]
    assert "Dyer et al. (2016) [8]  generative  93.3" in page
    assert "7 Conclusion" in page
    numbers = [line for line in document.lines if line.page_num > 1 and line.is_furniture]
    assert [line.text for line in numbers] == [str(number) for number in range(2, 16)]


def test_the_stamp_in_the_margin_is_furniture(shared_data: Path) -> None:
    stamp = _line(_parsed(shared_data, PAPER), 1, "arXiv:1706.03762v7")
    assert stamp.is_furniture
    assert stamp.section_id is None


def test_running_heads_of_the_framework_are_furniture(shared_data: Path) -> None:
    document = _parsed(shared_data, FRAMEWORK)
    for page in range(2, 33):
        heads = [line for line in document.lines if line.page_num == page and line.is_furniture]
        assert len(heads) == 3
    assert not any(line.is_hidden for line in document.lines)


def test_every_govern_outcome_is_on_a_line_of_the_core(shared_data: Path) -> None:
    import re

    document = _parsed(shared_data, FRAMEWORK)
    body = " ".join(
        line.text for line in document.lines if 21 <= line.page_num <= 23 and line.section_id == "s10"
    )
    assert len(set(re.findall(r"GV\.[A-Z]{2}-\d\d", body))) == 31


def test_wrapped_cells_of_the_standard_keep_their_sentences(shared_data: Path) -> None:
    document = _parsed(shared_data, STANDARD)
    texts = [passage.text for passage in document.passages if passage.page_start == 10]
    assert any("The unauthorized disclosure of information could be expected" in text for text in texts)


def test_passages_are_short_enough_to_count(shared_data: Path) -> None:
    for name in (PAPER, FRAMEWORK, STANDARD):
        document = _parsed(shared_data, name)
        sizes = [len(passage.text.split()) for passage in document.passages]
        assert max(sizes) <= 120
        assert 55 <= sum(sizes) / len(sizes) <= 100
