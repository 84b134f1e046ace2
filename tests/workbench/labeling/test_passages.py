"""Finding the passages that the rows of a file mean: each document is read once, and few of its lines are looked at."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.workbench.cast import Cast
from tests.workbench.scene import make_document
from workbench.documents.models import Document, Line
from workbench.errors import WorkbenchError
from workbench.labeling import passages
from workbench.labeling.passages import DocumentTexts, Place, TooMuchToSearch

pytestmark = pytest.mark.usefixtures("here")

WORDS = "Access records are kept for twenty-four months."


@pytest.fixture
def documents(cast: Cast) -> list[Document]:
    return [
        make_document(collection=cast.alpha, owner=cast.analyst, name=name)
        for name in ("first.txt", "second.txt")
    ]


def found(place: Place | WorkbenchError) -> tuple[int, int, int]:
    assert isinstance(place, Place)
    return place.document_id, place.line_start, place.line_end


def test_each_document_is_read_once_for_all_its_rows(cast: Cast, documents: list[Document]) -> None:
    rows = [{"document": document.name, "text": WORDS} for document in documents] * 20
    rows += [
        {"document": "first.txt", "page": "1", "line_from": "5", "line_to": "6"},
        {"document": "none.txt"},
    ]
    with CaptureQueriesContext(connection) as queries:
        places = DocumentTexts(cast.alpha).places(rows)
    read = [query["sql"] for query in queries if f'FROM "{Line._meta.db_table}"' in query["sql"]]
    assert len(read) == len(documents)
    assert [found(place) for place in places[:40]] == [(document.pk, 5, 5) for document in documents] * 20
    assert found(places[40]) == (documents[0].pk, 5, 6)
    assert "none.txt" in str(places[41])


def test_the_same_words_are_looked_for_once(
    cast: Cast, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is looked through is counted, and ends."""
    once = [{"document": "first.txt", "text": WORDS}]
    others = [{"document": "first.txt", "text": f"not a word of it {number}"} for number in range(20)]
    length = sum(len(line.text) + 1 for line in documents[0].lines.all())
    monkeypatch.setattr(passages, "MOST_SEARCHED", length + 20 * len(WORDS))
    assert len(DocumentTexts(cast.alpha).places(once * 20)) == 20
    with pytest.raises(TooMuchToSearch):
        DocumentTexts(cast.alpha).places(others)


def test_lines_are_looked_up_and_not_gone_through(
    cast: Cast, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    number = 2000
    Line.objects.filter(document=documents[0]).delete()
    Line.objects.bulk_create(
        Line(
            document=documents[0],
            page_num=1,
            line_num=line,
            text=f"Line {line}",
            character_count=len(f"Line {line}"),
        )
        for line in range(1, number + 1)
    )
    looked_at: list[Any] = []
    position = passages._position
    monkeypatch.setattr(passages, "_position", lambda line: looked_at.append(line) or position(line))
    rows = [
        {"document": "first.txt", "page": "1", "line_from": str(line)} for line in range(1, number + 1, 20)
    ]
    places = DocumentTexts(cast.alpha).places(rows)
    assert [found(place)[1] for place in places] == list(range(1, number + 1, 20))
    assert len(looked_at) <= len(rows) * 2 * (number.bit_length() + 2)


def test_a_line_that_is_not_there_is_named(cast: Cast, documents: list[Document]) -> None:
    rows = [
        {"document": "first.txt", "page": "1", "line_from": "5", "line_to": "500"},
        {"document": "first.txt", "page": "9", "line_from": "1"},
        {"document": "first.txt", "page": "1", "line_from": "6", "line_to": "5"},
        {"document": "first.txt"},
    ]
    problems = [str(place) for place in DocumentTexts(cast.alpha).places(rows)]
    assert ["no line 500" in problems[0], "no line 1 on page 9" in problems[1]] == [True, True]
    assert "no line 6" in problems[2]
    assert "Say where" in problems[3]
