"""Comments of workbooks and presentations, in their older and newer form; all wording is ours."""

from __future__ import annotations

import io
import zipfile

from openpyxl import Workbook
from openpyxl.comments import Comment
from pptx import Presentation

from arbitration.parsing.drafts import Draft
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.pptx import draft_of_pptx
from arbitration.parsing.xlsx import draft_of_xlsx

_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
_THREADS = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"
_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
_P188 = "http://schemas.microsoft.com/office/powerpoint/2018/8/main"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"


def _with_parts(data: bytes, **changed: str) -> bytes:
    """The package with parts put in or, where their text begins with "+", added to before the end of their root."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        parts = {name: old.read(name) for name in old.namelist()}
        for name, text in changed.items():
            if text.startswith("+"):
                body, slash, end = parts[name].rpartition(b"</")
                parts[name] = body + text[1:].encode() + slash + end
            else:
                parts[name] = text.encode()
        for name, content in parts.items():
            new.writestr(name, content)
    return out.getvalue()


def _relation(kind: str, target: str) -> str:
    return f'+<Relationship xmlns="{_RELS}" Id="x{kind}" Type="http://schemas/{kind}" Target="{target}"/>'


def _noted(draft: Draft) -> list[tuple[str, str, bool]]:
    return [(line.text, line.author, line.is_hidden) for line in draft.lines if line.mark == "comment"]


def _workbook() -> bytes:
    workbook, out = Workbook(), io.BytesIO()
    sheet = workbook.active
    sheet.append(["Vendor", "Amount"])
    sheet.append(["Acme", 300])
    sheet["B2"].comment = Comment("Too much?\nAsk.", "Cleo")
    sheet["A9"].comment = Comment("Below all", "Dan")
    hidden = workbook.create_sheet("Behind")
    hidden["A1"], hidden.sheet_state = "Secret", "hidden"
    hidden["A1"].comment = Comment("Keep it so", "Eve")
    workbook.save(out)
    return out.getvalue()


def test_comments_of_cells_stand_below_their_row_and_are_not_searched() -> None:
    draft = draft_of_xlsx(_workbook(), limits=ParseLimits())
    assert _noted(draft) == [
        ("B2: Too much? Ask.", "Cleo", False),
        ("A9: Below all", "Dan", False),
        ("A1: Keep it so", "Eve", True),
    ]
    texts = [line.text for line in draft.lines]
    assert texts.index("B2: Too much? Ask.") == texts.index("Vendor: Acme  Amount: 300") + 1
    assert not [line for line in draft.lines if line.mark == "comment" and line.is_body]
    assert "3 comments on cells are shown with their author; they are not searched" in draft.warnings


def test_a_thread_is_read_instead_of_its_copy_for_old_programs() -> None:
    data = _with_parts(
        _workbook(),
        **{
            "xl/threadedComments/threadedComment1.xml": f'<ThreadedComments xmlns="{_THREADS}">'
            '<threadedComment ref="B2" personId="{1}" id="{a}"><text>Is this right?</text></threadedComment>'
            '<threadedComment ref="B2" personId="{2}" id="{b}" parentId="{a}"><text>It is.</text></threadedComment>'
            "</ThreadedComments>",
            "xl/persons/person.xml": f'<personList xmlns="{_THREADS}"><person id="{{1}}" displayName="Cleo"/>'
            '<person id="{2}" displayName="Finn"/></personList>',
            "xl/worksheets/_rels/sheet1.xml.rels": _relation(
                "threadedComment", "../threadedComments/threadedComment1.xml"
            ),
        },
    )
    assert _noted(draft_of_xlsx(data, limits=ParseLimits()))[:3] == [
        ("B2: Is this right?", "Cleo", False),
        ("B2: It is.", "Finn", False),
        ("A9: Below all", "Dan", False),
    ]


def _deck() -> bytes:
    deck, out = Presentation(), io.BytesIO()
    for title in ("Retention", "Deletion"):
        deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = title
    deck.save(out)
    return out.getvalue()


def test_comments_on_slides_have_their_authors_in_both_forms() -> None:
    data = _with_parts(
        _deck(),
        **{
            "ppt/comments/comment1.xml": f'<p:cmLst xmlns:p="{_P}"><p:cm authorId="0"><p:pos x="1" y="1"/>'
            "<p:text>Seven years?</p:text></p:cm></p:cmLst>",
            "ppt/commentAuthors.xml": f'<p:cmAuthorLst xmlns:p="{_P}"><p:cmAuthor id="0" name="Cleo"/></p:cmAuthorLst>',
            "ppt/slides/_rels/slide1.xml.rels": _relation("comments", "../comments/comment1.xml"),
            "ppt/comments/modernComment_1.xml": f'<p:cmLst xmlns:p="{_P188}" xmlns:a="{_A}">'
            '<p:cm authorId="{1}"><p:replyLst><p:reply authorId="{2}"><p:txBody><a:p><a:r><a:t>By whom?</a:t></a:r>'
            "</a:p></p:txBody></p:reply></p:replyLst><p:txBody><a:p><a:r><a:t>Who </a:t></a:r><a:r><a:t>deletes?</a:t>"
            "</a:r></a:p></p:txBody></p:cm></p:cmLst>",
            "ppt/authors.xml": f'<p:authorLst xmlns:p="{_P188}"><p:author id="{{1}}" name="Dan"/>'
            '<p:author id="{2}" name="Eve"/></p:authorLst>',
            "ppt/slides/_rels/slide2.xml.rels": _relation("comments", "/ppt/comments/modernComment_1.xml"),
        },
    )
    draft = draft_of_pptx(data, limits=ParseLimits())
    assert _noted(draft) == [
        ("Seven years?", "Cleo", False),
        ("Who deletes?", "Dan", False),
        ("By whom?", "Eve", False),
    ]
    assert [line.page_num for line in draft.lines if line.mark == "comment"] == [1, 2, 2]


def test_a_damaged_part_of_comments_costs_no_document() -> None:
    data = _with_parts(_workbook(), **{"xl/comments/comment1.xml": "<comments>"})
    draft = draft_of_xlsx(data, limits=ParseLimits())
    assert [author for _words, author, _hidden in _noted(draft)] == ["Eve"]
