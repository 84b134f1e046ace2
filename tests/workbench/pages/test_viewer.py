"""The page viewer: what a search boxes, lines as people cite them, two documents side by side, nearly the same ones."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import ClientAs
from tests.workbench.scene import TEXT, Scene, make_document
from workbench.documents.erasure import document_delete
from workbench.documents.likeness import SIZE, document_sketch, resemblance, sketch_of
from workbench.documents.models import Document, Likeness, Line, Sketch
from workbench.documents.selectors import page_view

#: The retention changed, the rest stayed.
CHANGED = TEXT | {
    "2 Retention": [
        "Access records are kept for thirty-six months.",
        *TEXT["2 Retention"][1:],
    ]
}


@pytest.fixture
def reader(cast: Cast, client_as: ClientAs) -> Client:
    return client_as(cast.analyst)


def _sketched(document: Document) -> Document:
    texts = document.lines.order_by("page_num", "line_num").values_list("text", flat=True)
    document_sketch(document=document, hashes=sketch_of(texts))
    return document


# --- search -----------------------------------------------------------------------------------------


def test_hits_are_boxed_on_the_page_and_listed_with_what_is_beside_them(reader: Client, scene: Scene) -> None:
    answer = reader.get(scene.document.get_absolute_url(), {"q": "records are kept"})
    search = answer.context["viewer"]["search"]
    assert [(hit["text"], hit["before"], hit["after"]) for hit in search["hits"]] == [
        ("This policy says how access records are kept.", "1 Purpose", TEXT["1 Purpose"][1]),
        ("Access records are kept for twenty-four months.", "2 Retention", TEXT["2 Retention"][1]),
        ("Payment records are kept for ten years.", TEXT["2 Retention"][1], "3 Deletion"),
    ]
    assert [line["hit"] for line in answer.context["viewer"]["lines"] if line["hit"]] == [
        *("current", "other", "other")
    ]
    body = answer.content.decode()
    assert "Access <mark>records are kept</mark> for twenty-four months." in body
    assert 'data-key="n"' in body
    assert 'data-key="p"' not in body  # the first hit has none before it
    second = reader.get(search["next_url"].partition("#")[0])
    assert second.context["viewer"]["search"]["index"] == 2
    assert 'data-key="p"' in second.content.decode()


def test_words_that_no_line_holds_together_are_found_in_their_passage(reader: Client, scene: Scene) -> None:
    answer = reader.get(scene.document.get_absolute_url(), {"q": "hold thirty days"})
    hits = answer.context["viewer"]["search"]["hits"]
    assert [hit["scope"]["line_start"] for hit in hits] == [9, 10]
    nothing = reader.get(scene.document.get_absolute_url(), {"q": "xylophone days"})
    assert nothing.context["viewer"]["search"]["hits"] == []


def test_a_search_starts_at_the_page_that_is_read(reader: Client, scene: Scene) -> None:
    Document.objects.filter(pk=scene.document.pk).update(page_count=2)
    Line.objects.filter(document=scene.document, line_num__gte=8).update(page_num=2)
    address = scene.document.get_absolute_url()
    assert reader.get(address, {"q": "records", "near": "2"}).context["viewer"]["page"]["number"] == 2
    # Turning pages stays on the page, hits or not, and keeps the words.
    turned = reader.get(address, {"q": "Purpose", "page": "2"}).context["viewer"]
    assert turned["page"]["number"] == 2
    assert turned["previous_page_url"].endswith("q=Purpose&page=1")
    assert [(small["number"], small["hits"]) for small in turned["small"]] == [(1, 1)]


# --- citing -----------------------------------------------------------------------------------------


def test_lines_are_cited_as_people_say_them(reader: Client, scene: Scene) -> None:
    address = reverse("documents:citation", args=[scene.document.pk])
    answer = reader.get(address, {"from": "1:6", "to": "1:5"})
    citation = answer.context["citation"]
    assert citation.place == "Access records policy, 2, p. 1, lines 5–6"
    assert citation.quote == " ".join(TEXT["2 Retention"][:2])
    one = reader.get(address, {"from": "1:5"}).context["citation"]
    assert one.place == "Access records policy, 2, p. 1, line 5"
    told = reader.get(f"/api/v1/documents/{scene.document.pk}/citation/", {"from": "1:5"}).json()
    assert (told["place"], told["clause"], told["quote"]) == (one.place, "2", one.quote)


def test_the_clause_that_a_line_opens_is_named_before_its_section(reader: Client, scene: Scene) -> None:
    Line.objects.filter(document=scene.document, line_num=5).update(text="2.3 Access records are kept.")
    citation = reader.get(reverse("documents:citation", args=[scene.document.pk]), {"from": "1:5"})
    assert citation.context["citation"].clause == "2.3"


@pytest.mark.parametrize(
    ("first", "last"), [("", ""), ("1", ""), ("x:1", ""), ("9:9", ""), ("1:0", ""), (f"1:{10**17}", "")]
)
def test_lines_that_are_not_there_are_refused(reader: Client, scene: Scene, first: str, last: str) -> None:
    address = reverse("documents:citation", args=[scene.document.pk])
    assert reader.get(address, {"from": first, "to": last}).status_code == 422


# --- side by side -----------------------------------------------------------------------------------


def test_the_words_that_differ_are_marked_on_both_sides(reader: Client, cast: Cast, scene: Scene) -> None:
    other = make_document(collection=cast.alpha, owner=cast.analyst, name="later.txt", text=CHANGED)
    address = reverse("documents:beside", args=[scene.document.pk, other.pk])
    answer = reader.get(address)
    body = answer.content.decode()
    assert "<del>twenty-four</del>" in body
    assert "<ins>thirty-six</ins>" in body
    for side in answer.context["sides"]:
        assert [line["number"] for line in side["viewer"]["lines"] if line["differs"]] == [5]
    narrowed = reader.get(address, {"left": "1:6-1:7", "right": "1:6-1:7"})
    assert "The two passages have the same words." in narrowed.content.decode()
    told = reader.get(f"/api/v1/documents/{scene.document.pk}/beside/{other.pk}/").json()
    assert [(row["line"], row["differs"]) for row in told["right"]["lines"] if row["differs"]] == [
        (5, [{"start": 28, "end": 38}])
    ]


def test_no_document_of_another_collection_is_shown_beside_one(
    client_as: ClientAs, cast: Cast, scene: Scene
) -> None:
    beyond = make_document(collection=cast.beta, owner=cast.outsider)
    for person in (cast.analyst, cast.outsider):
        client = client_as(person)
        for pair in ([scene.document.pk, beyond.pk], [beyond.pk, scene.document.pk]):
            assert client.get(reverse("documents:beside", args=pair)).status_code == 404
            assert client.get("/api/v1/documents/{}/beside/{}/".format(*pair)).status_code == 404


def test_a_deleted_document_is_read_on_neither_side_nor_cited(
    reader: Client, cast: Cast, scene: Scene
) -> None:
    other = make_document(collection=cast.alpha, owner=cast.analyst, name="later.txt", text=CHANGED)
    cited = reverse("documents:citation", args=[other.pk])
    assert reader.get(cited, {"from": "1:5"}).status_code == 200
    document_delete(actor=cast.admin, document=other, reason="The client asked for it.")
    for pair in ([scene.document.pk, other.pk], [other.pk, scene.document.pk]):
        assert reader.get(reverse("documents:beside", args=pair)).status_code == 404
        assert reader.get("/api/v1/documents/{}/beside/{}/".format(*pair)).status_code == 404
    assert reader.get(cited, {"from": "1:5"}).status_code == 404
    other.refresh_from_db()
    assert page_view(document=other, page_num=1).lines == []


# --- nearly the same --------------------------------------------------------------------------------


def test_resemblance_is_that_of_the_runs_of_words() -> None:
    words = [f"w{number}" for number in range(3_000)]
    whole, most, other = (
        sketch_of([" ".join(part)]) for part in (words, words[:2_700], [f"x{word}" for word in words])
    )
    assert len(whole) == SIZE
    assert resemblance(whole, whole) == 1
    assert 0.8 < resemblance(whole, most) < 1
    assert resemblance(whole, other) == 0
    assert sketch_of(["one two three"]) == []
    assert sketch_of(["a b c", "d e"]) == sketch_of(["A  b", "c d e"])  # line breaks do not count
    assert sketch_of(["a b c d e " * 50]) == sketch_of(["a b c d e " * 90])


def test_a_document_that_is_nearly_the_same_is_named_where_it_is_seen(
    reader: Client, client_as: ClientAs, cast: Cast, scene: Scene
) -> None:
    _sketched(scene.document)
    other = make_document(collection=cast.alpha, owner=cast.analyst, name="copy.txt", text=CHANGED)
    beyond = make_document(collection=cast.beta, owner=cast.outsider, name="secret.txt", text=CHANGED)
    _sketched(beyond), _sketched(other), _sketched(other)
    (likeness,) = Likeness.objects.all()
    assert {likeness.first_id, likeness.second_id} == {scene.document.pk, other.pk}
    assert likeness.share > 0.5
    beside = reverse("documents:beside", args=[scene.document.pk, other.pk])
    for address in (
        cast.alpha.get_absolute_url(),
        other.get_absolute_url(),
        reverse("documents:status", args=[other.pk]),
    ):
        body = reader.get(address).content.decode()
        assert "Nearly the same as" in body
        assert beside in body
        assert "secret.txt" not in body
    told = reader.get(f"/api/v1/documents/{other.pk}/alike/").json()
    assert [row["document"] for row in told] == [scene.document.pk]
    assert "Nearly the same" not in client_as(cast.outsider).get(beyond.get_absolute_url()).content.decode()
    Document.objects.filter(pk=other.pk).update(version_of=scene.document, version_number=2)
    assert "Nearly the same as" not in reader.get(other.get_absolute_url()).content.decode()


def test_a_deleted_document_is_like_no_other(reader: Client, cast: Cast, scene: Scene) -> None:
    _sketched(scene.document)
    other = _sketched(make_document(collection=cast.alpha, owner=cast.analyst, name="copy.txt", text=CHANGED))
    assert Likeness.objects.exists()
    Sketch.objects.get(document=other).delete()
    Document.objects.filter(pk=other.pk).update(status="cancelled")
    assert "Nearly the same" not in reader.get(scene.document.get_absolute_url()).content.decode()


# --- for programs -----------------------------------------------------------------------------------


def test_a_program_reads_what_the_viewer_shows(reader: Client, scene: Scene) -> None:
    base = f"/api/v1/documents/{scene.document.pk}"
    page = reader.get(f"{base}/pages/1/").json()
    assert (page["page"], page["pages"], page["width"]) == (1, 1, 612)
    assert page["lines"][4]["text"] == TEXT["2 Retention"][0]
    assert page["lines"][4]["box"] == [60, 104, 235, 12]
    assert reader.get(f"{base}/pages/2/").status_code == 404
    assert [row["title"] for row in reader.get(f"{base}/outline/").json()] == list(TEXT)
    hits = reader.get(f"{base}/find/", {"q": "ten years"}).json()
    assert [(hit["line"], hit["marks"]) for hit in hits["hits"]] == [(7, [{"start": 29, "end": 38}])]
    assert reader.get(f"{base}/pages/1/image/").status_code == 404  # a text has no image
