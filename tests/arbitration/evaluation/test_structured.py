from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.evaluation.datasets import load_dataset
from arbitration.evaluation.judge import Judge
from arbitration.evaluation.records import (
    DatasetDocument,
    EvalQuestion,
    PassageEvidence,
    RankedAnchor,
    SpanEvidence,
    StructuredUnit,
)
from arbitration.evaluation.structured import line_map, line_maps, to_parsed_document
from tests.arbitration.evaluation import folders

LONG = "The keeper trims the wick. " * 30


def document(*units: StructuredUnit, whole: bool = False) -> DatasetDocument:
    return DatasetDocument("d", "Handbook", units=units, whole_passages=whole)


def whole_anchor(passage: object) -> RankedAnchor:
    return RankedAnchor(
        "d", *(getattr(passage, f) for f in ("page_start", "line_start", "page_end", "line_end"))
    )


def test_units_become_nested_sections_with_breadcrumbs() -> None:
    parsed = to_parsed_document(
        document(
            StructuredUnit("1", "1 Duties", "Duties"),
            StructuredUnit("1.1", "1.1", "Keep the light.", level=2),
            StructuredUnit("2", "2 Rest", "Rest"),
        )
    )

    assert [(s.section_id, s.level, s.parent_id, s.breadcrumb) for s in parsed.sections] == [
        ("s1", 1, None, "1 Duties"),
        ("s2", 2, "s1", "1 Duties › 1.1"),
        ("s3", 1, None, "2 Rest"),
    ]
    assert [line.text for line in parsed.lines] == ["Duties", "Keep the light.", "Rest"]
    assert (parsed.title, parsed.language, parsed.toc_source) == ("Handbook", "en", "markup")


def test_an_empty_unit_stands_as_its_title() -> None:
    parsed = to_parsed_document(
        document(StructuredUnit("1.1", "1.1", ""), StructuredUnit("1.2", "1.2", "Text."), whole=True)
    )

    assert [(p.section_id, p.text) for p in parsed.passages] == [("s1", "1.1"), ("s2", "Text.")]


def test_whole_passages_are_never_cut() -> None:
    unit = StructuredUnit("1", "1", LONG)

    assert len(to_parsed_document(document(unit, whole=True)).passages) == 1
    assert len(to_parsed_document(document(unit)).passages) > 1


def test_a_printed_heading_is_a_line_but_no_part_of_the_text() -> None:
    source = document(StructuredUnit("a", "Article I: Assembly", "There is one.", has_heading_line=True))
    lines = line_map(source)

    assert [line.text for line in to_parsed_document(source).lines] == [
        "Article I: Assembly",
        "There is one.",
    ]
    assert lines is not None
    (span,) = lines.spans(RankedAnchor("d", 1, 2, 1, 2))
    assert (span.unit_id, span.start, span.end) == ("a", 0, 13)


def test_a_file_is_not_structured() -> None:
    with pytest.raises(ValueError, match="is a file"):
        to_parsed_document(DatasetDocument("d", "a.pdf", path=Path("a.pdf")))


def test_page_evidence_needs_no_map() -> None:
    assert line_map(DatasetDocument("d", "a.pdf", path=Path("a.pdf"))) is None


def test_text_files_map_lines_to_characters_with_line_breaks_as_they_are(tmp_path: Path) -> None:
    text = "Fees\r\n\r\nThe tenant pays the fee.\r\nThe owner repairs."
    start = text.index("The owner")
    folder = folders.contract_folder(tmp_path / "x", text, [folders.span_label(start, start + 9)])
    dataset = load_dataset(folder)
    judge = Judge(line_maps(dataset))

    assert [judge.is_hit(dataset.questions[0], RankedAnchor("d1", 1, n, 1, n)) for n in (1, 2, 3)] == [
        False,
        False,
        True,
    ]


units = st.lists(
    st.tuples(st.integers(1, 4), st.text("abc. \n", max_size=400), st.booleans()), min_size=1, max_size=12
)


@given(units, st.booleans())
def test_every_passage_leads_back_to_its_unit(rows: list[tuple[int, str, bool]], whole: bool) -> None:
    source = document(
        *(
            StructuredUnit(f"u{n}", f"Title {n}", text, level, heading)
            for n, (level, text, heading) in enumerate(rows)
        ),
        whole=whole,
    )
    parsed, lines = to_parsed_document(source), line_map(source)
    assert lines is not None
    judge = Judge({("main", "d"): lines})

    for passage in parsed.passages:
        unit_id = f"u{int((passage.section_id or 's0')[1:]) - 1}"
        asked = EvalQuestion("q", "?", answerable=True, evidence=(PassageEvidence("d", unit_id),))
        assert judge.is_hit(asked, whole_anchor(passage))
    assert len(parsed.sections) == len(rows)
    assert {line.section_id for line in parsed.lines} == {section.section_id for section in parsed.sections}


@pytest.mark.data
@pytest.mark.parametrize("name", ["cuad", "contractnli", "policyqa"])
def test_every_labelled_span_can_be_hit_by_one_line(shared_data: Path, name: str) -> None:
    """Some line overlaps each span of more than one character (one label is a single blank)."""
    dataset = load_dataset(shared_data / name)
    maps = line_maps(dataset)
    unreachable = [
        (question.key, unit)
        for question in dataset.questions
        for unit in question.evidence
        if isinstance(unit, SpanEvidence)
        and unit.end - unit.start > 1
        and not maps["main", unit.document_id].covers(unit)
    ]

    assert unreachable == []
