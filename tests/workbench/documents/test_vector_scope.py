"""The walk of the vector graph stays inside its scope, however the scope is told to the database."""

from __future__ import annotations

import numpy as np
import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from tests.workbench.cast import Cast
from tests.workbench.scene import HashEmbedder, make_document
from workbench.documents import store
from workbench.documents.embedding import active_space
from workbench.documents.models import Document, DocumentStatus
from workbench.documents.services import index_epoch_bump
from workbench.documents.store import DatabaseCandidateStore


@pytest.fixture
def three(cast: Cast, here: None) -> list[Document]:
    return [
        make_document(collection=cast.alpha, owner=cast.analyst, name=f"{name}.txt")
        for name in ("first", "second", "third")
    ]


def walked(scope: DatabaseCandidateStore) -> set[str]:
    """The documents of what the graph gives, without the exact search that follows where it gives too little."""
    (vector,) = HashEmbedder().embed(["records kept"])
    return {row.document_id for row in scope._nearest(np.asarray(vector), limit=500, exact=False)}


def of(cast: Cast) -> DatabaseCandidateStore:
    return DatabaseCandidateStore(collection=cast.alpha, space=active_space())


def test_a_whole_collection_is_all_its_documents_and_no_other(cast: Cast, three: list[Document]) -> None:
    make_document(collection=cast.beta, owner=cast.outsider)

    assert walked(of(cast)) == {document.public_id for document in three}


@pytest.mark.parametrize(
    "status", [DocumentStatus.EMBEDDING, DocumentStatus.CANCELLED, DocumentStatus.FAILED]
)
def test_what_is_not_ready_is_left_out(cast: Cast, three: list[Document], status: str) -> None:
    first, second, third = three
    Document.objects.filter(pk=second.pk).update(status=status, failure_reason="why")
    index_epoch_bump(collection_ids=[cast.alpha.pk])

    assert walked(of(cast)) == {first.public_id, third.public_id}


def test_an_older_version_is_left_out(cast: Cast, three: list[Document]) -> None:
    first, second, third = three
    Document.objects.filter(pk=third.pk).update(version_of=first)
    index_epoch_bump(collection_ids=[cast.alpha.pk])

    assert walked(of(cast)) == {second.public_id, third.public_id}


def test_more_left_out_than_asked(cast: Cast, three: list[Document]) -> None:
    Document.objects.exclude(pk=three[1].pk).update(status=DocumentStatus.QUEUED)
    index_epoch_bump(collection_ids=[cast.alpha.pk])

    assert walked(of(cast)) == {three[1].public_id}


def test_a_document_that_came_since_is_left_out(cast: Cast, three: list[Document]) -> None:
    scope = of(cast)
    make_document(collection=cast.alpha, owner=cast.analyst, name="late.txt")

    assert walked(scope) == {document.public_id for document in three}


def test_a_document_that_nobody_had_seen_and_has_an_earlier_key_is_left_out(
    cast: Cast, three: list[Document]
) -> None:
    """Keys are given before rows are seen: who commits later may have the earlier one."""
    first, second, third = three
    scope = of(cast)
    unseen = dict(scope._documents)
    del unseen[second.pk]
    scope._scope = store.Scope(unseen, is_collection=True)
    scope._documents = unseen

    assert walked(scope) == {first.public_id, third.public_id}


def test_a_collection_of_many_documents_is_not_told_document_by_document(
    cast: Cast, three: list[Document]
) -> None:
    scope = of(cast)
    with CaptureQueriesContext(connection) as queries:
        walked(scope)
    (asked,) = [query["sql"] for query in queries if "documents_passagevector" in query["sql"]]
    assert "<> ALL" in asked
    assert not any(f"{{{','.join(str(d.pk) for d in three)}}}" in query["sql"] for query in queries)


@pytest.mark.parametrize(("times", "seen"), [(1, 200), (2, 400), (50, 1000)])
def test_the_walk_keeps_more_in_sight_the_more_strangers_it_meets(
    cast: Cast, three: list[Document], times: int, seen: int
) -> None:
    asked = sum(document.passage_count for document in three)
    Document.objects.filter(pk=three[0].pk).update(passage_count=F("passage_count") + (times - 1) * asked)
    scope = of(cast)
    scope._scope.__dict__["passage_count"] = asked
    with CaptureQueriesContext(connection) as queries:
        walked(scope)
    assert any(f"SET LOCAL hnsw.ef_search = {seen};" in query["sql"] for query in queries)
