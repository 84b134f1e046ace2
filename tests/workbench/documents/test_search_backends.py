"""The two indexes of words keep the same promises: the same tests over both.

That in the database needs pg_textsearch, which the embedded PostgreSQL does not have: its half is skipped, saying so,
unless ``WORKBENCH_POSTGRES_BIN`` names one that has it (docs/scaling.md).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.models.functions import Now

from arbitration.errors import ArbitrationError
from arbitration.text import term_matcher
from tests.workbench.cast import Cast
from tests.workbench.documents.test_lexical import DELETION, ENGLISH, RETENTION, SCOPE
from tests.workbench.scene import make_document
from workbench.documents import bm25_indexes, checks, lexical_database
from workbench.documents.embedding import active_space
from workbench.documents.lexical_database import condition, token, tokens
from workbench.documents.models import (
    Collection,
    Document,
    DocumentStatus,
    IndexedDocument,
    IndexedPart,
    IndexedText,
)
from workbench.documents.search_backend import text_index
from workbench.documents.search_moving import indexes_ensure, words_move_in
from workbench.documents.services import index_epoch_bump
from workbench.documents.store import DatabaseCandidateStore
from workbench.documents.term_queries import PARTS, WORDS, Combined, Phrase, query_words
from workbench.documents.text_index import PASSAGE, SECTION

#: Texts in which each word of the matcher's own tests stands in one form or another.
FORMS = {
    "1 S C O P E": [
        "Our cyber-security team reads ISO-27001 and pr.ac-1 first.",
        "The counter party answers.",
    ],
    "2 Confidentiality": [
        "The con fi dentiality of data protection is kept.",
        "See § 4.2(b) and two GDPRs of 2016.",
    ],
    "3 Responsibilities": [
        "R E S P O N S I B I L I T I E S of the client’s naïve policies: AT&T, 32,502 records."
    ],
}


def needs_engine() -> None:
    if not bm25_indexes.extension_is_there():
        pytest.skip("this PostgreSQL has no pg_textsearch; WORKBENCH_POSTGRES_BIN can name one that has")


@pytest.fixture(params=["embedded", "database"])
def backend(request: pytest.FixtureRequest, cast: Cast, here: None, settings) -> str:
    if request.param == "database":
        needs_engine()
        indexes_ensure()
    settings.SEARCH_BACKEND = request.param
    return request.param


def found(collection: Collection, word: str, documents: Sequence[int] | None = None) -> list[int]:
    hits = text_index(collection).search(
        kind=PASSAGE, any_of=query_words([word], "en"), documents=documents, limit=50
    )
    return [hit.document_pk for hit in hits]


def store_of(cast: Cast, documents: Sequence[Document] | None = None) -> DatabaseCandidateStore:
    return DatabaseCandidateStore(collection=cast.alpha, space=active_space(), documents=documents)


def test_what_stands_somewhere_is_counted_and_what_stands_nowhere_is_not(cast: Cast, backend: str) -> None:
    document = make_document(collection=cast.alpha, owner=cast.analyst, text=FORMS)
    lines = list(document.lines.values_list("text", flat=True))
    present = {term for line in term_matcher(tuple(ENGLISH), "en").matched_in_each(lines) for term in line}
    assert {"ISO 27001", "cybersecurity", "confidentiality", "§ 4.2(b)", "scope", "GDPR", "AT&T"} <= present

    counts = store_of(cast).count_hits([*ENGLISH, "unicorn", "ISO 27002", "PR.AC-2", "stamp duty"])

    assert {term for term, count in counts.items() if count} == present
    assert not any(counts[term] for term in ("unicorn", "ISO 27002", "PR.AC-2", "stamp duty"))


def test_terms_are_counted_together(cast: Cast, backend: str, django_assert_max_num_queries) -> None:
    """On a cluster each statement goes to every shard: a question of many words sends few."""
    make_document(collection=cast.alpha, owner=cast.analyst, text=RETENTION | DELETION)
    terms = ["access", "records", "months", "kept", "backups", "ninety", "days", "unicorn", "recordkeeping"]
    store = store_of(cast)
    store.count_hits(["warm"])

    with django_assert_max_num_queries(
        8
    ):  # counts, rare texts, and two of a long word: of passages and of titles
        counts = store.count_hits(terms)

    assert counts == {term: store.count_hits([term])[term] for term in terms}
    assert counts["records"] > counts["unicorn"] == 0


def test_scope_never_leaks(cast: Cast, backend: str) -> None:
    first = make_document(collection=cast.alpha, owner=cast.analyst, name="a", text=RETENTION)
    second = make_document(collection=cast.alpha, owner=cast.analyst, name="b", text=RETENTION)
    make_document(collection=cast.beta, owner=cast.outsider, text=RETENTION | DELETION)
    index = text_index(cast.alpha)

    assert sorted(found(cast.alpha, "records")) == [first.pk, second.pk]
    assert found(cast.alpha, "records", [first.pk]) == [first.pk]
    assert found(cast.alpha, "records", []) == []
    assert found(cast.alpha, "backups") == []
    holding = index.term_queries(PASSAGE).holding("records", "en")
    assert index.count(kind=PASSAGE, any_of=holding, documents=[second.pk]) == 1
    assert index.count(kind=PASSAGE, any_of=holding, documents=None) == 2
    assert [
        h.document_pk for h in index.look(kind=PASSAGE, any_of=holding, documents=[second.pk], limit=9)
    ] == [second.pk]
    assert store_of(cast).count_hits(["backups"]) == {"backups": 0}
    assert store_of(cast, [first]).profile().documents[0].line_count == 3


def test_it_follows_the_documents(cast: Cast, backend: str, django_assert_num_queries) -> None:
    first = make_document(collection=cast.alpha, owner=cast.analyst, name="a", text=RETENTION)
    assert found(cast.alpha, "records") == [first.pk]
    second = make_document(collection=cast.alpha, owner=cast.analyst, name="b", text=DELETION)
    Document.objects.filter(pk=first.pk).update(status=DocumentStatus.CANCELLED)
    index_epoch_bump(collection_ids=[cast.alpha.pk])
    assert (found(cast.alpha, "records"), found(cast.alpha, "backups")) == ([], [second.pk])

    second.passages.update(text="Quarterly audits happen.")
    second.lines.update(text="Quarterly audits happen.")
    Document.objects.filter(pk=second.pk).update(finished_at=Now())
    index_epoch_bump(collection_ids=[cast.alpha.pk])
    assert (found(cast.alpha, "backups"), set(found(cast.alpha, "audits"))) == ([], {second.pk})

    with django_assert_num_queries(1):
        text_index(cast.alpha)


def test_titles_and_passages_are_kept_apart(cast: Cast, backend: str) -> None:
    make_document(collection=cast.alpha, owner=cast.analyst, text=SCOPE)
    index = text_index(cast.alpha)

    (title,) = index.search(kind=SECTION, any_of=["scope"], documents=None, limit=5)
    assert title.payload["title"] == "1 Scope"
    assert index.search(kind=SECTION, any_of=["contractor"], documents=None, limit=5) == []
    assert index.search(kind=PASSAGE, any_of=["", ""], documents=None, limit=5) == []
    assert index.count(kind=PASSAGE, any_of=[], documents=None) == 0


def test_a_boosted_query_counts_double_and_a_filter_changes_no_score(cast: Cast, backend: str) -> None:
    for name, text in (("a", RETENTION), ("b", DELETION), ("c", SCOPE)):
        make_document(collection=cast.alpha, owner=cast.analyst, name=name, text=text)
    index = text_index(cast.alpha)
    query = index.term_queries(PASSAGE).holding("contractor", "en")[:1]
    (once,) = index.search(kind=PASSAGE, also=query, documents=None, limit=5)
    (double,) = index.search(kind=PASSAGE, boosted=query, documents=None, limit=5)
    assert double.score == pytest.approx(2 * once.score)

    words = ["record", "delet", "bind"]
    everywhere = index.search(kind=PASSAGE, any_of=words, documents=None, limit=10)
    assert len(everywhere) == 3
    assert [hit.score for hit in everywhere] == sorted((hit.score for hit in everywhere), reverse=True)
    for hit in everywhere:
        (alone,) = index.search(kind=PASSAGE, any_of=words, documents=[hit.document_pk], limit=10)
        assert alone.score == pytest.approx(hit.score)


def test_a_code_written_in_pieces_is_found_and_preferred(
    cast: Cast, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_document(
        collection=cast.alpha,
        owner=cast.analyst,
        name="a",
        text={
            "1 Standards": ["The team is certified.", "The team was certified again, as teams are certified."]
        },
    )
    wanted = make_document(
        collection=cast.alpha,
        owner=cast.analyst,
        name="b",
        text={
            "1 Standards": ["This long line about many other things names ISO-27001 once, where it stands."]
        },
    )

    for large in (50_000, -1):  # then what the walk of the BM25 index lacks is looked for without it
        monkeypatch.setattr(lexical_database, "_LARGE", large)
        lexical_database._indexes.clear()
        rows = store_of(cast).lexical("ISO 27001 team certified", exact=["ISO 27001"])
        assert [row.document_id for row in rows] == [wanted.public_id, other.public_id]


def test_both_rank_alike(cast: Cast, here: None, settings) -> None:
    """The same entries, the same words, the same formula: the same order and scores."""
    needs_engine()
    indexes_ensure()
    for name, text in (("a", RETENTION), ("b", DELETION), ("c", SCOPE), ("d", FORMS)):
        make_document(collection=cast.alpha, owner=cast.analyst, name=name, text=text)

    def ranked(backend: str) -> list[tuple[int, float]]:
        settings.SEARCH_BACKEND = backend
        rows = store_of(cast).lexical(
            "Which records of ISO 27001 are kept, and who deletes?", exact=["ISO 27001"]
        )
        return [(row.passage_id, row.score) for row in rows]

    embedded, database = ranked("embedded"), ranked("database")
    assert [key for key, _ in embedded] == [key for key, _ in database]
    assert [score for _, score in embedded] == pytest.approx([score for _, score in database], rel=1e-4)


# --- moving -------------------------------------------------------------------------------------------


def test_the_way_in_and_out_can_be_stopped_and_goes_on(cast: Cast, here: None, settings) -> None:
    needs_engine()
    with connection.cursor() as cursor:  # an index is not made over rows whose keys are still to be checked
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    documents = [
        make_document(collection=cast.alpha, owner=cast.analyst, name=name, text=RETENTION) for name in "abc"
    ]
    steps = words_move_in()
    assert (next(steps).documents, next(steps).done) == (3, 1)
    steps.close()
    assert IndexedDocument.objects.count() == 1

    said = StringIO()
    call_command("search_backend", "database", "--json", stdout=said)
    assert json.loads(said.getvalue())["documents"] == 2
    assert sorted(IndexedDocument.objects.values_list("pk", flat=True)) == [d.pk for d in documents]
    settings.SEARCH_BACKEND = "database"
    assert checks.words_are_in_the_database(["default"]) == []
    assert len(found(cast.alpha, "records")) == 3
    with pytest.raises(CommandError, match="SEARCH_BACKEND=embedded"):
        call_command("search_backend", "embedded")

    settings.SEARCH_BACKEND = "embedded"
    call_command("search_backend", "embedded", "--json")
    assert not any(model.objects.exists() for model in (IndexedDocument, IndexedText, IndexedPart))
    assert len(found(cast.alpha, "records")) == 3


def test_the_setting_without_the_index_is_told_at_start_and_by_each_question(
    cast: Cast, here: None, settings
) -> None:
    make_document(collection=cast.alpha, owner=cast.analyst, text=RETENTION)
    bm25_indexes.indexes_drop()
    settings.SEARCH_BACKEND = "database"

    (problem,) = checks.words_are_in_the_database(["default"])
    assert "manage.py search_backend database" in problem.hint
    with pytest.raises(ArbitrationError, match="search_backend"):
        store_of(cast).lexical("records")
    if not bm25_indexes.extension_is_there():
        with pytest.raises(CommandError, match="CREATE EXTENSION"):
            call_command("search_backend", "database")


@pytest.mark.parametrize(
    "word", ["iso27001", "zqx", "§", "naïve", "@4.2", "x" * 300, "x" * 301, "1e5", "a'b", "ß" * 300]
)
def test_a_word_is_one_word_of_letters_to_the_database(word: str) -> None:
    made = token(word)

    assert made.isascii()
    assert made.isalpha()
    assert len(made) < 2047
    assert made != token(word + "x")
    assert tokens(f"kept {word} 2016") == f"kept {made} 2016"


def test_conditions_hold_no_word_of_a_question_themselves() -> None:
    query = Combined(
        (Phrase(WORDS, ("it's",)), Phrase(PARTS, ("iso", "27001")), Combined((), holds_all=True)),
        holds_all=True,
    )

    text, values = condition(query)

    assert text.count("%s") == len(values) == 3
    assert "iso" not in text
    assert text.endswith("AND false)")
