"""Where a passage stands in the next version of its document: unchanged, changed or gone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arbitration.versions import (
    VersionLine,
    VersionSection,
    VersionText,
    section_changes,
    section_key,
    squeezed,
    text_key,
    word_diff,
)


def body(*texts: str, heading: str = "") -> VersionText:
    return VersionText([VersionLine(1, number, text, heading) for number, text in enumerate(texts, 1)])


OLD = ["Access records are kept for twenty-four", "months after the contract ends."]


def test_the_same_words_are_found_whatever_the_line_breaks() -> None:
    new = body(
        "A new preface.", "Access records are kept for", "twenty-four months after the con-", "tract ends."
    )
    match = new.match(OLD)
    assert match.state == "unchanged"
    assert [line.line_num for line in match.lines] == [2, 3, 4]


def test_a_changed_figure_is_a_change_at_its_place() -> None:
    new = body(
        "A preface.", "Access records are kept for thirty-six", "months after the contract ends.", "The end."
    )
    match = new.match(OLD)
    assert match.state == "changed"
    assert [line.line_num for line in match.lines] == [2, 3]
    assert 0.5 <= match.similarity < 1


def test_a_passage_that_went_is_gone() -> None:
    match = body("Payment is due in ten days.", "Invoices go out monthly.").match(OLD)
    assert (match.state, match.lines) == ("gone", ())


def test_words_that_only_begin_alike_are_not_the_same_text() -> None:
    assert body("They are kept for tenths.").match(["kept for ten"]).state != "unchanged"
    assert body("They are kept for ten days.").match(["kept for ten"]).state == "unchanged"


def test_case_and_punctuation_are_changes() -> None:
    assert body("The Client pays.").match(["The client pays."]).state == "changed"
    assert body("The client pays, and sees.").match(["The client pays and sees."]).state == "changed"


def test_of_equal_texts_the_one_under_the_same_heading_is_meant_then_the_nearest() -> None:
    lines = [VersionLine(1, n, "It may be renewed.", f"s{n}") for n in (1, 2, 3)]
    assert VersionText(lines).match(["It may be renewed."], heading="s2").lines[0].line_num == 2
    assert VersionText(lines).match(["It may be renewed."], place=0.9).lines[0].line_num == 3


def test_empty_versions_and_passages_are_no_match() -> None:
    assert body().match(OLD).state == "gone"
    assert body("Words.").match([]).state == "gone"


@given(
    words=st.lists(st.text("abc", min_size=1, max_size=4), min_size=3, max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=6),
    span=st.tuples(st.integers(0, 40), st.integers(1, 10)),
)
def test_any_run_of_words_is_found_unchanged_however_the_lines_are_cut(
    words: list[str], cuts: list[int], span: tuple[int, int]
) -> None:
    ends = sorted({cut for cut in cuts if 0 < cut < len(words)} | {len(words)})
    lines = [" ".join(words[a:b]) for a, b in zip([0, *ends], ends, strict=False)]
    start = span[0] % len(words)
    passage = [" ".join(words[start : start + span[1]])]
    match = body(*lines).match(passage)
    assert match.state == "unchanged"
    assert squeezed(passage) in squeezed([line.text for line in match.lines])


@given(old=st.text("ab \n", max_size=60), new=st.text("ab \n", max_size=60))
def test_a_diff_holds_both_texts(old: str, new: str) -> None:
    parts = word_diff(old, new)
    assert " ".join(p.text for p in parts if p.kind != "added") == " ".join(old.split())
    assert " ".join(p.text for p in parts if p.kind != "removed") == " ".join(new.split())


def test_a_key_names_a_text_whatever_its_line_breaks() -> None:
    assert text_key(OLD) == text_key([" ".join(OLD)])
    assert text_key(OLD) != text_key(["Access records are kept for twelve months after the contract ends."])


def test_sections_are_paired_by_title_whatever_their_number() -> None:
    old = [
        VersionSection("1 Purpose", "One two."),
        VersionSection("2 Retention", "Two years."),
        VersionSection("3 Old", "x"),
    ]
    new = [
        VersionSection("1 Purpose", "One\ntwo."),
        VersionSection("2 New", "y"),
        VersionSection("3 Retention", "Three years."),
    ]
    found = {
        change.title: (change.state, change.same, change.added, change.removed)
        for change in section_changes(old, new)
    }
    assert found == {
        "1 Purpose": ("same", 2, 0, 0),
        "2 New": ("added", 0, 1, 0),
        "3 Retention": ("changed", 1, 1, 1),
        "3 Old": ("removed", 0, 0, 1),
    }


def test_words_in_another_order_are_a_change() -> None:
    change = section_changes(
        [VersionSection("A", "seller pays buyer")], [VersionSection("A", "buyer pays seller")]
    )[0]
    assert (change.state, change.added, change.removed) == ("changed", 0, 0)


def test_a_title_that_is_all_number_keeps_it() -> None:
    assert section_key("4.2 Audit rights") == section_key("5. Audit rights") == "audit rights"
    assert section_key("2024") == "2024"
    assert section_key("I agree") != section_key("You agree")
