"""Questions in other words: linked inside their scope, never answered from."""

from __future__ import annotations

import pytest

from tests.workbench.cast import Cast
from tests.workbench.scene import HashEmbedder, make_document, make_run
from workbench.documents.models import Document
from workbench.runs import similar

pytestmark = pytest.mark.usefixtures("here")

FIRST = "How long are the access records kept?"
OTHER_WORDS = "How long are the access records kept, please?"


@pytest.fixture
def document(cast: Cast) -> Document:
    return make_document(collection=cast.alpha, owner=cast.analyst)


def linked(run) -> int | None:  # type: ignore[no-untyped-def]
    found = run.parsed_question["similar_run"]
    return found["run_id"] if found else None


def test_other_words_are_linked_to_the_earlier_run_and_searched_anew(
    cast: Cast, document: Document, client_as
) -> None:
    first = make_run(asker=cast.analyst, document=document, text=FIRST)
    again = make_run(asker=cast.analyst, document=document, text=OTHER_WORDS)

    assert again.pk != first.pk
    assert again.candidates.exists()
    assert linked(first) is None
    assert linked(again) == first.pk
    page = client_as(cast.analyst).get(again.get_absolute_url()).content.decode()
    assert f"asked before in other words: run {first.pk}" in page


def test_another_question_and_another_scope_are_not_linked(cast: Cast, document: Document) -> None:
    make_run(asker=cast.analyst, document=document, text=FIRST)
    other = make_run(asker=cast.analyst, document=document, text="Who lifts a legal hold?")
    elsewhere = make_document(collection=cast.alpha, owner=cast.analyst, name="twin.txt")
    twin = make_run(asker=cast.analyst, document=elsewhere, text=OTHER_WORDS)

    assert linked(other) is None
    assert linked(twin) is None


def test_the_nearest_is_found_and_vectors_are_computed_once() -> None:
    class Counting(HashEmbedder):
        texts: list[str] = []

        def embed(self, texts):  # type: ignore[no-untyped-def]
            self.texts.extend(texts)
            return super().embed(texts)

    embedder = Counting()
    similar._known.clear()
    for _ in range(2):
        nearest, cosine = similar.nearest_question("a b c", ["x y z", "a b d"], embedder=embedder)
        assert nearest == "a b d"
        assert cosine == pytest.approx(2 / 3, abs=1e-5)
    assert sorted(embedder.texts) == ["a b c", "a b d", "x y z"]
