"""BM25 of the shards against BM25 of one index, on labelled questions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
from django.db import connection
from django.test import override_settings

from arbitration.text import exact_codes
from tests.cluster.conftest import IS_THERE
from workbench.accounts.models import User
from workbench.documents.embedding import active_space
from workbench.documents.ingest import PASSAGE_COLUMNS, text_hash
from workbench.documents.models import Collection, Document, DocumentStatus
from workbench.documents.services import index_epoch_bump
from workbench.documents.store import DatabaseCandidateStore

pytestmark = pytest.mark.skipif(not IS_THERE, reason="no cluster; make cluster-test starts one")
QUESTIONS, TOP = 500, 50
_COPY = f"COPY documents_passage (document_id, {', '.join(PASSAGE_COLUMNS)}) FROM STDIN"


@pytest.fixture(scope="module")
def gold(shared_data: Path, django_db_setup: None) -> list[tuple[str, set[int]]]:
    """Questions with the keys of the passages that answer them. The passages stand there as ingestion leaves them, but
    for lines and vectors, which nothing here reads."""
    keys: dict[tuple[int, str], int] = {}
    collection = Collection.objects.create(slug="obliqa", name="ObliQA")
    for path in sorted((shared_data / "obliqa" / "docs").glob("*.json")):
        _store(json.loads(path.read_text()), path.stem, collection, keys)
    index_epoch_bump(collection_ids=[collection.pk])
    labels = [json.loads(line) for line in (shared_data / "obliqa" / "labels.jsonl").open()][:QUESTIONS]
    return [
        (label["question"], {keys[item["document_id"], item["passage_id"]] for item in label["evidence"]})
        for label in labels
    ]


def _store(
    passages: list[dict[str, str]], name: str, collection: Collection, keys: dict[tuple[int, str], int]
) -> None:
    document = Document.objects.create(
        collection=collection,
        sha256=f"obliqa {name}",
        name=name,
        size=1,
        uploaded_by=User.objects.system(),
        status=DocumentStatus.READY,
        passage_count=len(passages),
    )
    with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        for place, passage in enumerate(passages):
            text = passage["Passage"]
            copy.write_row((document.pk, place, 1, place + 1, 1, place + 1, "", text, text_hash(text)))
    by_place = dict(document.passages.values_list("ordinal", "pk"))
    for place, passage in enumerate(passages):
        keys[int(passage["DocumentID"]), passage["PassageID"]] = by_place[place]


def _ranks(gold: list[tuple[str, set[int]]], seconds: list[float]) -> Iterator[float]:
    """The reciprocal of the place of the first passage that answers, of each question."""
    store = DatabaseCandidateStore(collection=Collection.objects.get(slug="obliqa"), space=active_space())
    store.lexical("anything")
    for question, answers in gold:
        started = time.perf_counter()
        rows = store.lexical(question, exact=exact_codes(question), limit=TOP)
        seconds.append(time.perf_counter() - started)
        places = [place for place, row in enumerate(rows, 1) if row.passage_id in answers]
        yield 1 / places[0] if places else 0.0


def test_the_shards_rank_as_well_as_one_index(gold: list[tuple[str, set[int]]]) -> None:
    figures: dict[str, float] = {}
    for backend in ("embedded", "database"):
        seconds: list[float] = []
        with override_settings(SEARCH_BACKEND=backend):
            ranks = list(_ranks(gold, seconds))
        figures[backend] = sum(ranks) / len(ranks)
        print(f"{backend}: MRR@{TOP} {figures[backend]:.3f}, p50 {1000 * median(seconds):.1f} ms")

    assert figures["database"] == pytest.approx(figures["embedded"], abs=0.01)
