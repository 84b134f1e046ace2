"""Web pages: structure, tables, hidden text; nothing is fetched and nothing runs."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.errors import ParseFailure
from arbitration.parsing.drafts import Draft
from arbitration.parsing.finish import finish
from arbitration.parsing.html import MAX_DEPTH, decode_html, draft_of_html
from arbitration.parsing.limits import ParseLimits


def _draft(text: str) -> Draft:
    return draft_of_html(text, limits=ParseLimits())


def _texts(text: str) -> list[str]:
    return [line.text for line in _draft(text).lines]


def test_headings_are_sections_and_the_title_is_the_pages() -> None:
    draft = _draft(
        "<title>House rules</title><h1>Rules</h1><p>All keep them.<h2>Keys</h2><p>One each."
        "<h2>Guests</h2><p>Until ten.<div role=heading aria-level=3>At night</div>Quiet."
    )
    assert [(s.level, s.title) for s in finish(draft, limits=ParseLimits()).sections] == [
        (1, "Rules"),
        (2, "Keys"),
        (2, "Guests"),
        (3, "At night"),
    ]
    assert draft.title == "House rules"
    assert draft.toc_source == "markup"


def test_bold_paragraphs_are_headings_where_none_are_marked() -> None:
    page = "".join(
        f"<p><b>{title}</b></p><p>{'The office keeps it that way for all who ask. ' * 3}</p>"
        for title in ("Hours", "Fees", "Appeals")
    )
    assert [entry.title for entry in _draft(page).toc] == ["Hours", "Fees", "Appeals"]


def test_blocks_lists_and_left_out_end_tags() -> None:
    assert _texts("<p>one<p>two<br>three<div>four<span> five</span></div>six") == [
        "one",
        "two",
        "three",
        "four five",
        "six",
    ]
    assert _texts("<ol start=3><li>c<li>d<ul><li>e</ul></ol><ol type=a><li>f</ol>") == [
        "3. c",
        "4. d",
        "• e",
        "a. f",
    ]
    assert _texts("a<!-- no --> &amp; b &lt;i&gt;") == ["a & b <i>"]


def test_tables_are_rows_and_layout_tables_are_blocks() -> None:
    assert _texts("<table><tr><th>Fee<th>Euro<tr><td>Late<td>5</table>after") == [
        "Fee  Euro",
        "Late  5",
        "after",
    ]
    assert _texts("<table><tr><td><table><tr><td>a<td>b</table><td><h2>T</h2>words</table>") == [
        "a  b",
        "T",
        "words",
    ]


@pytest.mark.parametrize(
    "hidden",
    [
        "<p hidden>Obey</p>",
        "<div style='DISPLAY : none'><p>Obey</div>",
        "<span style='visibility:hidden'>Obey</span>",
        "<span style='font-size:0px'>Obey</span>",
        "<span style='opacity:0'>Obey</span>",
        "<span style='color:#fff'>Obey</span>",
        "<span style='color:black;background:#000000'>Obey</span>",
        "<div style='position:absolute;left:-9999px'>Obey</div>",
        "<style>.x, #y {display:none !important}</style><p class='a x'>Obey</p>",
        "<p id=y>Obey</p><style>p#y{display:none}</style>",
        "<noscript>Obey</noscript>",
    ],
)
def test_hidden_text_is_flagged_and_never_searched(hidden: str) -> None:
    draft = _draft(f"<p>Plain words.</p>{hidden}<p>More.</p>")
    assert [line.text for line in draft.lines if line.is_hidden] == ["Obey"]
    assert [line.text for line in draft.lines if not line.is_hidden] == ["Plain words.", "More."]
    assert not any("Obey" in passage.text for passage in finish(draft, limits=ParseLimits()).passages)
    assert any("hidden from a reader" in warning for warning in draft.warnings)


def test_what_is_seen_is_not_flagged() -> None:
    page = (
        "<style>@media print {.p {display:none}} .q .r {display:none}</style><p class=p>a</p><p class=r>b</p>"
        "<p style='color:white;background-color:#333333'>c</p><p style='font-size:12px;left:4px'>d</p>"
    )
    draft = _draft(page)
    assert [line.text for line in draft.lines if line.is_body] == ["a", "b", "c", "d"]


def test_navigation_is_furniture() -> None:
    draft = _draft("<nav><a href=/>Home</a></nav><p>Words.")
    assert [(line.text, line.is_furniture) for line in draft.lines] == [("Home", True), ("Words.", False)]


def test_scripts_and_remote_things_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    draft = _draft(
        "<script src=http://x.test/a.js>document.write('added')</script><link rel=stylesheet href=http://x.test/a.css>"
        "<iframe src=http://x.test></iframe><img src=http://x.test/p.png alt=seen><object data=http://x.test></object>"
        "<p onclick=alert(1)>Words<svg><title>no</title><text>no</text></svg>."
    )
    assert [line.text for line in draft.lines] == ["Words."]
    assert any("scripts; they were not run" in warning for warning in draft.warnings)


def test_depth_and_length_are_bounded() -> None:
    with pytest.raises(ParseFailure) as failure:
        _draft("<div>" * (MAX_DEPTH + 1) + "x")
    assert failure.value.code == "too_large"
    with pytest.raises(ParseFailure) as failure:
        draft_of_html("words " * 100, limits=ParseLimits(max_characters=99))
    assert failure.value.code == "too_large"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("año".encode(), "año"),
        (b"\xef\xbb\xbfa\xc3\xb1o", "año"),
        ("año".encode("utf-16"), "año"),
        (b"<meta charset=iso-8859-1>a\xf1o", "<meta charset=iso-8859-1>año"),
        (b"<meta charset=unicode_escape>\\u0041", "<meta charset=unicode_escape>\\u0041"),
        (b"a\xf1o", "año"),
    ],
)
def test_encodings(data: bytes, expected: str) -> None:
    assert decode_html(data) == expected


_TAGS = st.sampled_from(
    "<p> </p> <b> </b> <table> <tr> <td> </td> </table> <ul> <li> </ul> <div/hidden> </div> <br> <h2> </h2>".split()  # noqa: SIM905
)


@given(st.lists(st.one_of(_TAGS, st.sampled_from(["word", "second ", " third", "&amp;"])), max_size=40))
def test_whatever_the_tags_do_the_words_come_through(parts: list[str]) -> None:
    draft = _draft("".join(parts))
    words = "".join("".join(part.split()) for part in parts if not part.startswith("<"))
    shown = "".join("".join(line.text.split()).replace("•", "") for line in draft.lines)
    assert sorted(shown) == sorted(words.replace("&amp;", "&"))


@given(st.text(st.sampled_from("<>!-/\"'= abp&;\n[]?"), max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    assert all(line.text.strip() for line in _draft(text).lines)
