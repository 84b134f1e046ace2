"""What a search finds, where, and for whom."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tests.workbench.cast import Cast
from tests.workbench.scene import make_document
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.documents import lexical
from workbench.documents.models import Document, DocumentStatus, Line, OfferState, VersionOffer
from workbench.documents.narrowing import ScopeFilter
from workbench.documents.services import index_epoch_bump
from workbench.documents.versions import version_accept
from workbench.search.selectors import Found, SearchPage, SearchRequest, search
from workbench.search.words import Words

Papers = dict[str, Document]


def looked(user: User, text: str, *, offset: int = 0, size: int = 20, **where: Any) -> SearchPage:
    return search(user=user, request=SearchRequest(Words.of(text), **where), offset=offset, size=size)


def titles(page: SearchPage) -> list[str]:
    return [str(found.document) for found in page.found]


def place(found: Found) -> tuple[int, int, int, int]:
    return found.page_start, found.line_start, found.page_end, found.line_end


def marked(found: Found) -> list[str]:
    return [found.text[start:end] for start, end in found.marks]


class TestWhatIsFound:
    def test_the_lines_that_hold_the_words_with_one_more_on_each_side(
        self, cast: Cast, papers: Papers
    ) -> None:
        (found,) = looked(cast.analyst, "payment receipt").found
        assert (found.document, place(found)) == (papers["contract"], (1, 6, 1, 6))
        (found,) = looked(cast.analyst, "transfer interest").found
        assert place(found) == (1, 5, 1, 7)
        (found,) = looked(cast.analyst, '"receipt late"').found
        assert place(found) == (1, 6, 1, 7)
        (found,) = looked(cast.analyst, '"thirty days of receipt"').found
        assert place(found) == (1, 6, 1, 6)
        assert found.section is not None
        assert found.section.breadcrumb == "2 Payment"
        assert found.text == (
            "Invoices are paid by bank transfer. Payment is due within thirty days of receipt."
            " Late payment bears interest."
        )
        assert marked(found) == ["thirty days of receipt"]

    def test_words_are_found_in_every_form_and_phrases_as_written(self, cast: Cast, papers: Papers) -> None:
        assert titles(looked(cast.analyst, "INVOICE bank")) == ["Contract"]
        assert titles(looked(cast.analyst, '"invoice"')) == []
        assert titles(looked(cast.analyst, '"invoices are"')) == ["Contract"]
        assert titles(looked(cast.analyst, "ac-2031")) == ["Contract"]

    def test_each_document_in_its_language(self, cast: Cast, papers: Papers) -> None:
        (found,) = looked(cast.analyst, "factura dias").found
        assert (found.document, marked(found)) == (papers["spanish"], ["facturas", "días"])

    def test_all_words_or_any(self, cast: Cast, papers: Papers) -> None:
        assert titles(looked(cast.analyst, "hold interest")) == []
        assert set(titles(looked(cast.analyst, "hold interest", any_word=True))) == {"Contract", "Policy"}

    def test_words_that_stand_nowhere_are_told(self, cast: Cast, papers: Papers) -> None:
        page = looked(cast.analyst, "payment zebra whistleblower")
        assert (page.found, page.absent) == ([], ("zebra", "whistleblower"))

    def test_pages_follow_one_another(self, cast: Cast, papers: Papers) -> None:
        whole = looked(cast.analyst, "records")
        parts = [looked(cast.analyst, "records", offset=n, size=1) for n in range(len(whole.found))]
        assert len(whole.found) >= 3
        assert [place(part.found[0]) for part in parts] == [place(found) for found in whole.found]
        assert [part.has_more for part in parts] == [*[True] * (len(parts) - 1), False]
        assert looked(cast.analyst, "records", offset=50).found == []

    def test_an_overlong_line_is_cut_around_the_word(self, cast: Cast, papers: Papers) -> None:
        long = f"{'lorem ' * 400}needle {'ipsum ' * 400}".strip()
        make_document(collection=cast.alpha, owner=cast.admin, name="long.txt", text={"Long": [long]})
        (found,) = looked(cast.analyst, "needle").found
        assert len(found.text) < 700
        assert marked(found) == ["needle"]
        assert (found.text[:2], found.text[-2:]) == ("… ", " …")


class TestScope:
    def test_nobody_finds_what_they_may_not_read(self, cast: Cast, papers: Papers) -> None:
        assert titles(looked(cast.analyst, "whistleblower")) == []
        assert titles(looked(cast.outsider, "payment")) == ["Secret"]
        assert titles(looked(cast.staff, "payment")) == []
        both = User.objects.get(pk=cast.analyst.pk)
        both.memberships.create(collection=cast.beta, role="auditor")
        assert sorted(titles(looked(both, "payment"))) == ["Contract", "Policy", "Secret"]
        assert titles(looked(both, "payment", collection=cast.beta)) == ["Secret"]

    def test_a_foreign_collection_or_document_gives_nothing_even_when_asked_for(
        self, cast: Cast, papers: Papers
    ) -> None:
        assert looked(cast.analyst, "payment", collection=cast.beta).found == []
        assert looked(cast.analyst, "payment", document=papers["secret"]).found == []

    def test_a_token_that_may_not_look_finds_nothing(self, cast: Cast, papers: Papers) -> None:
        cast.analyst.token_scopes = [Permission.ASK]  # type: ignore[attr-defined]
        assert not looked(cast.analyst, "payment").has_documents

    @pytest.mark.parametrize("status", [s for s in DocumentStatus if s != DocumentStatus.READY])
    def test_only_what_is_ready(self, cast: Cast, papers: Papers, status: DocumentStatus) -> None:
        assert titles(looked(cast.analyst, "interest")) == ["Contract"]  # indexed
        gone = {}
        if status in {DocumentStatus.DELETED, DocumentStatus.ERASED}:
            now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
            gone = {"deleted_by": cast.admin, "deleted_at": now, "erase_at": now, "deletion_reason": "Asked."}
            gone |= {"erased_at": now} if status == DocumentStatus.ERASED else {}
        if status == DocumentStatus.FAILED:
            gone = {"failure_reason": "Broken."}
        # The epoch stays: the index still holds it, the search must not.
        Document.objects.filter(pk=papers["contract"].pk).update(status=status, **gone)
        assert titles(looked(cast.analyst, "interest")) == []
        assert looked(cast.analyst, "interest", document=papers["contract"]).found == []

    def test_an_older_version_is_searched_only_by_name(self, cast: Cast, papers: Papers) -> None:
        newer = make_document(
            collection=cast.alpha,
            owner=cast.admin,
            name="new.txt",
            text={"2 Payment": ["Interest is waived."]},
        )
        VersionOffer.objects.create(document=newer, older=papers["contract"], state=OfferState.OPEN)
        version_accept(actor=cast.admin, document=newer)
        (found,) = looked(cast.analyst, "interest").found
        assert found.document == newer
        (found,) = looked(cast.analyst, "interest", document=papers["contract"]).found
        assert found.document == papers["contract"]

    def test_hidden_text_and_furniture_are_not_found(self, cast: Cast, papers: Papers) -> None:
        lines = Line.objects.filter(document=papers["contract"], text__contains="interest")
        lines.update(is_hidden=True)
        lexical.index_forget(collection_id=cast.alpha.pk)
        shown = looked(cast.analyst, "bank transfer").found
        assert all("interest" not in found.text for found in shown)


class TestFilters:
    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            ({"filters": ScopeFilter(document_types=("contract",))}, ["Contract"]),
            ({"filters": ScopeFilter(tags=("CLOUD",))}, ["Contract"]),
            ({"filters": ScopeFilter(tags=("none",))}, []),
            ({"filters": ScopeFilter(effective_from=dt.date(2021, 1, 1))}, ["Contract"]),
            ({"filters": ScopeFilter(effective_to=dt.date(2020, 1, 1))}, ["Policy"]),
            ({"section": "payment"}, ["Contract"]),
            ({"section": "RETENTION"}, ["Policy"]),
            ({"section": "whistle"}, []),
        ],
    )
    def test_each(self, cast: Cast, papers: Papers, where: dict[str, Any], expected: list[str]) -> None:
        assert sorted(titles(looked(cast.analyst, "payment", **where))) == expected

    def test_a_document(self, cast: Cast, papers: Papers) -> None:
        assert set(titles(looked(cast.analyst, "payment", document=papers["policy"]))) == {"Policy"}

    def test_filters_that_no_document_passes_are_told(self, cast: Cast, papers: Papers) -> None:
        page = looked(cast.analyst, "payment", filters=ScopeFilter(tags=("none",)))
        assert (page.found, page.has_documents) == ([], False)


def test_queries_do_not_grow_with_collections_documents_or_hits(
    cast: Cast, papers: Papers, django_assert_num_queries: Any
) -> None:
    looked(cast.outsider, "payment")
    with django_assert_num_queries(4):
        assert len(looked(cast.outsider, "payment").found) == 1
    cast.outsider.memberships.create(collection=cast.alpha, role="auditor")
    for number in range(6):
        make_document(collection=cast.alpha, owner=cast.admin, name=f"more-{number}.txt")
    index_epoch_bump(collection_ids=[cast.beta.pk])
    looked(cast.outsider, "payment")
    with django_assert_num_queries(4):
        assert len(looked(cast.outsider, "payment").found) > 6
