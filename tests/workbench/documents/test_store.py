"""The product's store answers as the engine's in-memory store does, on the same documents; and it stays inside its
scope, whatever happens around it."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper
from django.test.utils import CaptureQueriesContext

from arbitration.detection import detect, end_threads
from arbitration.documents import Line, ParsedDocument
from arbitration.errors import ArbitrationError
from arbitration.late_interaction import PassageTokens
from arbitration.memory import InMemoryStore, StoredDocument
from arbitration.parsing.drafts import to_wire
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.registry import parse_here
from arbitration.protocols import LineRow, PassageRow, SectionRow
from arbitration.settings import EngineSettings
from tests.product import eventually
from tests.workbench.cast import Cast
from tests.workbench.scene import HashEmbedder, TokenHashEmbedder, make_document
from workbench.documents import ingest, store
from workbench.documents.embedding import active_space
from workbench.documents.models import Collection, Document, DocumentStatus, PassageVector
from workbench.documents.services import index_epoch_bump
from workbench.documents.store import DatabaseCandidateStore, fresh_connection

CHARTER = """# Security charter

## 1 Scope

This charter binds all subsidiaries and every contractor of the group.

### 1.1 Exceptions

The treasury is exempt from ISO 27001 until it is certified. Its 32,502 records are listed apart.

## 2 Retention

Access records are kept for twenty-four months. The cyber-security team keeps its own.

### 2.1 Legal hold

(a) A legal hold stops the deletion under PR.AC-1 and § 4.2(b).

(b) It ends when the counter party agrees in writing.

## 3 R E S P O N S I B I L I T I E S

The controller's officers answer for the data protection of clients. GDPR applies.
"""
REGLAMENTO = """# Reglamento

## 1 Alcance

Este reglamento obliga a todas las filiales y contratistas del grupo.

## 2 Conservación

Los registros de acceso se conservan durante veinticuatro meses según la Ley 1581.

## 3 Protección de datos

El responsable de la ciberseguridad informa cada año a la administración.
"""
TERMS = [
    "ISO 27001", "ISO27001", "32,502", "cybersecurity", "cyber security", "PR.AC-1", "pr.ac-1", "§ 4.2(b)", "GDPR",
    "counterparty", "counterparties", "responsibilities", "controllers", "data protection", "retention", "records",
    "legal hold", "subsidiaries", "treasury", "hold stops", "unicorn", "stamp duty", "1581", "filiales", "conservación",
    "conservacion", "administración", "año", "ciberseguridad", "protección de datos", "exceptions", "Scope",
]  # fmt: skip


def parse(folder: Path, name: str, text: str) -> ParsedDocument:
    path = folder / name
    path.write_text(text)
    parsed = ParsedDocument.model_validate_json(
        to_wire(parse_here(path, filename=name, limits=ParseLimits()))
    )
    return _with_marks(parsed)


def _with_marks(parsed: ParsedDocument) -> ParsedDocument:
    """A running footer and a hidden line at the end of the first page: shown, never searched."""
    last = max(line.line_num for line in parsed.lines if line.page_num == 1)

    def extra(place: int, text: str, **marks: bool) -> Line:
        return Line(page_num=1, line_num=last + place, text=text, character_count=len(text), **marks)

    lines = [
        *(line for line in parsed.lines if line.page_num == 1),
        extra(1, "unicorn footer 7", is_furniture=True),
        extra(2, "stamp duty is owed by unicorns", is_hidden=True),
        *(line for line in parsed.lines if line.page_num > 1),
    ]
    return parsed.model_copy(update={"lines": tuple(lines)})


@pytest.fixture
def embedder(here: None, monkeypatch: pytest.MonkeyPatch) -> HashEmbedder:
    made = TokenHashEmbedder()
    monkeypatch.setattr(ingest, "current_embedder", lambda: made)
    return made


@pytest.fixture
def charter(tmp_path: Path) -> ParsedDocument:
    return parse(tmp_path, "charter.md", CHARTER)


@pytest.fixture
def reglamento(tmp_path: Path) -> ParsedDocument:
    return parse(tmp_path, "reglamento.md", REGLAMENTO).model_copy(update={"language": "es"})


def add(cast: Cast, name: str, parsed: ParsedDocument) -> Document:
    found = ingest.parsed_document_add(actor=cast.analyst, collection=cast.alpha, name=name, parsed=parsed)
    assert found.status == DocumentStatus.READY
    return found


@pytest.fixture
def documents(
    cast: Cast, embedder: HashEmbedder, charter: ParsedDocument, reglamento: ParsedDocument
) -> dict[str, tuple[Document, ParsedDocument]]:
    return {
        "charter.md": (add(cast, "charter.md", charter), charter),
        "reglamento.md": (add(cast, "reglamento.md", reglamento), reglamento),
    }


@pytest.fixture(params=["one English document", "one Spanish document", "the collection"])
def stores(
    request: pytest.FixtureRequest,
    cast: Cast,
    embedder: HashEmbedder,
    documents: dict[str, tuple[Document, ParsedDocument]],
) -> tuple[DatabaseCandidateStore, InMemoryStore]:
    """The same scope in the database and in memory."""
    names = {"one English document": ["charter.md"], "one Spanish document": ["reglamento.md"]}.get(
        request.param, list(documents)
    )
    chosen = [documents[name] for name in names]
    memory = InMemoryStore(
        [StoredDocument(document.public_id, document.name, parsed) for document, parsed in chosen],
        embedder=embedder,
        doc_id="alpha" if len(chosen) > 1 else names[0],
    )
    scope = [document for document, _ in chosen] if len(chosen) == 1 else None
    return DatabaseCandidateStore(collection=cast.alpha, space=active_space(), documents=scope), memory


def places(rows: Sequence[PassageRow]) -> list[tuple[object, ...]]:
    return [
        (r.document_id, r.page_start, r.line_start, r.page_end, r.line_end, r.section_id, r.text)
        for r in rows
    ]


def by_place(rows: Sequence[LineRow | SectionRow]) -> list[LineRow | SectionRow]:
    return sorted(rows, key=str)


class TestParity:
    """The same answers as the store the engine is tested with."""

    def test_profile(self, stores: tuple[DatabaseCandidateStore, InMemoryStore]) -> None:
        found, expected = stores
        profile, model = found.profile(), expected.profile()

        assert profile.doc_id == model.doc_id
        assert profile.is_collection == model.is_collection
        assert profile.has_usable_toc == model.has_usable_toc
        for mine, theirs in zip(profile.documents, model.documents, strict=True):
            assert mine == replace(theirs, document_type=mine.document_type)
            assert mine.line_count > 5  # what the proof of absence says it searched
            assert mine.section_count > 2

    def test_lines_titles_and_absence(self, stores: tuple[DatabaseCandidateStore, InMemoryStore]) -> None:
        found, expected = stores
        for term in TERMS:
            assert by_place(found.lines_with([term])) == by_place(expected.lines_with([term])), term
            assert by_place(found.title_hits([term])) == by_place(expected.title_hits([term])), term
            assert bool(found.count_hits([term])[term]) == bool(expected.count_hits([term])[term]), term

    def test_many_terms_at_once(self, stores: tuple[DatabaseCandidateStore, InMemoryStore]) -> None:
        found, expected = stores

        assert by_place(found.lines_with(TERMS)) == by_place(expected.lines_with(TERMS))
        assert by_place(found.title_hits(TERMS)) == by_place(expected.title_hits(TERMS))
        assert {t for t, n in found.count_hits(TERMS).items() if n} == {
            t for t, n in expected.count_hits(TERMS).items() if n
        }
        assert list(found.count_hits(TERMS)) == TERMS

    @pytest.mark.parametrize(
        "reference", ["section 2", "2.1", "section 1.1", "clause 2.1(b)", "section 99", "3"]
    )
    def test_numbered_sections(
        self, stores: tuple[DatabaseCandidateStore, InMemoryStore], reference: str
    ) -> None:
        found, expected = stores

        assert by_place(found.sections_numbered([reference])) == by_place(
            expected.sections_numbered([reference])
        )

    def test_sections_by_id(self, stores: tuple[DatabaseCandidateStore, InMemoryStore]) -> None:
        found, expected = stores
        keys = [(d.document_id, f"s{n}") for d in expected.profile().documents for n in range(1, 9)]

        assert found.sections_by_id(keys) == expected.sections_by_id(keys)
        assert found.sections_by_id([]) == {}

    def test_the_outline_is_the_sections_in_reading_order(
        self, stores: tuple[DatabaseCandidateStore, InMemoryStore]
    ) -> None:
        found, expected = stores
        for document in expected.profile().documents:
            assert found.outline(document.document_id) == expected.outline(document.document_id)
            assert len(found.outline(document.document_id, limit=1)) == 1
        assert found.outline("d999999999") == []

    @pytest.mark.parametrize(
        "query", ["How long are access records kept?", "legal hold", "filiales del grupo"]
    )
    def test_lexical_finds_the_same_passages(
        self, stores: tuple[DatabaseCandidateStore, InMemoryStore], query: str
    ) -> None:
        found, expected = stores
        mine, theirs = found.lexical(query), expected.lexical(query)

        assert places(mine)[:1] == places(theirs)[:1]
        # Function words count in the one and not in the other; what holds a content word is in both.
        assert set(places(theirs)) <= set(places(mine))
        assert all(row.score > 0 for row in mine)

    def test_vectors(
        self, stores: tuple[DatabaseCandidateStore, InMemoryStore], embedder: HashEmbedder
    ) -> None:
        found, expected = stores
        vectors = embedder.embed(["access records kept", "legal hold stops deletion"])

        mine, theirs = found.vector(vectors), expected.vector(vectors)

        assert sorted(places(mine)) == sorted(places(theirs))
        assert [r.score for r in mine] == pytest.approx([r.score for r in theirs], abs=1e-4)
        assert found.vector([]) == []

    def test_lines_of_spans(self, stores: tuple[DatabaseCandidateStore, InMemoryStore]) -> None:
        found, expected = stores
        ids = [d.document_id for d in expected.profile().documents]
        spans = [
            *((document, 1, 1, 9, 99) for document in ids),
            (ids[0], 1, 3, 1, 5),
            (ids[0], 1, 5, 1, 3),
            ("d999999999", 1, 1, 9, 9),
            (ids[0], 1, 3, 1, 5),
        ]

        assert found.lines_of_scopes(spans) == expected.lines_of_scopes(spans)
        assert found.lines_between(*spans[0]) == expected.lines_between(*spans[0])
        assert found.lines_of_scopes([]) == []

    def test_tokens_of_spans(self, stores: tuple[DatabaseCandidateStore, InMemoryStore]) -> None:
        found, expected = stores
        ids = [d.document_id for d in expected.profile().documents]
        spans = [
            *(
                (document, page, line, page, line + 3)
                for document in ids
                for page in (1, 2)
                for line in (1, 4, 9)
            ),
            ("d999999999", 1, 1, 9, 9),
            (ids[0], 1, 5, 1, 3),
        ]

        mine = found.tokens_of_scopes(spans)

        assert mine == expected.tokens_of_scopes(spans)
        assert any(mine)
        passages = [
            PassageTokens.unpacked(data) for data in found.tokens_of_scopes([(ids[0], 1, 1, 1, 99)])[0]
        ]
        shown = {(row.page_num, row.line_num) for row in found.lines_between(ids[0], 1, 1, 1, 99)}
        assert {place for passage in passages for place in passage.lines[1:]} <= shown
        assert found.tokens_of_scopes([]) == []

    @pytest.mark.parametrize(
        "terms", [["RECORD"], ["cyber"], ["100%"], ["_"], ["\\"], [" "], ["zzz", "grup"]]
    )
    def test_substring_pages(
        self, stores: tuple[DatabaseCandidateStore, InMemoryStore], terms: list[str]
    ) -> None:
        found, expected = stores
        wanted = [term for term in terms if term.strip()]

        assert found.substring_pages(terms) == (expected.substring_pages(wanted) if wanted else [])

    def test_limits(
        self, stores: tuple[DatabaseCandidateStore, InMemoryStore], embedder: HashEmbedder
    ) -> None:
        found, _ = stores

        assert len(found.lines_with(TERMS, limit=2)) == 2
        assert len(found.title_hits(TERMS, limit=1)) <= 1
        assert len(found.lexical("records grupo", limit=1)) == 1
        assert len(found.vector(embedder.embed(["records"]), limit=1)) == 1
        assert len(found.sections_numbered(["2"], limit=1)) == 1


def test_both_stores_lead_to_the_same_candidates(
    stores: tuple[DatabaseCandidateStore, InMemoryStore], embedder: HashEmbedder
) -> None:
    """From question to pool: what the engine's tests show of the one holds for the other."""
    settings = EngineSettings(concurrent=False)

    mine, theirs = (
        detect(question="How long are access records kept?", store=s, embedder=embedder, settings=settings)
        for s in stores
    )

    assert [o.error for o in mine.outcomes] == [None] * len(mine.outcomes)
    assert {c.candidate_id for c in mine.candidates} == {c.candidate_id for c in theirs.candidates}
    assert mine.absence.proved == theirs.absence.proved
    assert (mine.absence.titles_searched, mine.absence.lines_searched) == (
        theirs.absence.titles_searched,
        theirs.absence.lines_searched,
    )


def test_an_absence_is_proved_with_the_number_of_lines_that_were_searched(
    cast: Cast, documents: dict[str, tuple[Document, ParsedDocument]], embedder: HashEmbedder
) -> None:
    document, parsed = documents["charter.md"]
    scope = DatabaseCandidateStore(collection=cast.alpha, space=active_space(), documents=[document])

    pool = detect(
        question="Which unicorns pay stamp duty?",
        store=scope,
        embedder=embedder,
        settings=EngineSettings(concurrent=False),
    )

    searched = sum(not line.is_furniture and not line.is_hidden for line in parsed.lines)
    assert pool.absence.proved
    assert f"{len(parsed.sections)} titles and {searched} lines of 1 document" in (
        pool.absence.statement or ""
    )


# --- scope --------------------------------------------------------------------------------------------


@pytest.fixture
def two(cast: Cast, here: None) -> tuple[Document, Document]:
    first = make_document(collection=cast.alpha, owner=cast.analyst, name="first.txt")
    return first, make_document(collection=cast.alpha, owner=cast.analyst, name="second.txt")


def everything(found: DatabaseCandidateStore, asked: Sequence[Document]) -> set[str]:
    """The documents that any query lets through."""
    vectors = HashEmbedder().embed(["records kept"])
    rows = [
        *found.title_hits(["retention", "purpose"]),
        *found.sections_numbered(["section 2"]),
        *found.sections_by_id([(d.public_id, "s2") for d in asked]).values(),
        *(row for d in asked for row in found.outline(d.public_id)),
        *found.lines_with(["records"]),
        *found.lexical("records kept"),
        *found.vector(vectors),
        *(row for rows in found.lines_of_scopes([(d.public_id, 1, 1, 9, 99) for d in asked]) for row in rows),
    ]
    pages = [document for document, _ in found.substring_pages(["record"])]
    return {row.document_id for row in rows} | set(pages)


def test_a_document_scope_lets_no_other_document_through(cast: Cast, two: tuple[Document, Document]) -> None:
    first, second = two
    scope = DatabaseCandidateStore(collection=cast.alpha, space=active_space(), documents=[first])

    assert everything(scope, [first, second]) == {first.public_id}
    assert scope.count_hits(["records"])["records"] == scope.count_hits(["record"])["record"] > 0


def test_a_collection_scope_lets_no_other_collection_through(
    cast: Cast, two: tuple[Document, Document]
) -> None:
    other = make_document(collection=cast.beta, owner=cast.outsider)
    scope = DatabaseCandidateStore(collection=cast.alpha, space=active_space())

    assert everything(scope, [*two, other]) == {document.public_id for document in two}


@pytest.mark.parametrize(
    "status", [DocumentStatus.EMBEDDING, DocumentStatus.CANCELLED, DocumentStatus.FAILED]
)
def test_a_document_that_is_not_ready_is_in_no_answer(
    cast: Cast, two: tuple[Document, Document], status: str
) -> None:
    """Its vectors and lines may be there already, or still."""
    first, second = two
    Document.objects.filter(pk=second.pk).update(status=status, failure_reason="why")
    index_epoch_bump(collection_ids=[cast.alpha.pk])

    scope = DatabaseCandidateStore(collection=cast.alpha, space=active_space())

    assert everything(scope, two) == {first.public_id}


def test_a_document_that_becomes_ready_in_the_middle_of_a_question_disturbs_nothing(
    cast: Cast, two: tuple[Document, Document]
) -> None:
    scope = DatabaseCandidateStore(collection=cast.alpha, space=active_space())
    late = make_document(collection=cast.alpha, owner=cast.analyst, name="late.txt")

    assert everything(scope, [*two, late]) == {document.public_id for document in two}


def test_a_collection_is_read_again_when_a_document_came_and_not_before(
    cast: Cast, two: tuple[Document, Document]
) -> None:
    space = active_space()
    DatabaseCandidateStore(collection=cast.alpha, space=space).profile()
    with CaptureQueriesContext(connection) as queries:
        again = DatabaseCandidateStore(collection=cast.alpha, space=space).profile()
    assert [query["sql"] for query in queries if "documents_document" in query["sql"]] == []
    assert [document.document_id for document in again.documents] == [d.public_id for d in two]

    late = make_document(collection=cast.alpha, owner=cast.analyst, name="late.txt")
    Document.objects.filter(pk=two[0].pk).update(status=DocumentStatus.CANCELLED)
    index_epoch_bump(collection_ids=[cast.alpha.pk])
    now = DatabaseCandidateStore(collection=cast.alpha, space=space)
    assert [d.document_id for d in now.profile().documents] == [two[1].public_id, late.public_id]
    assert everything(now, [*two, late]) == {two[1].public_id, late.public_id}


def test_what_is_not_ready_is_never_searched_in_vain(cast: Cast, two: tuple[Document, Document]) -> None:
    """An empty scope would prove that everything is absent."""
    Document.objects.update(status=DocumentStatus.QUEUED)

    with pytest.raises(ArbitrationError, match="not ready"):
        DatabaseCandidateStore(collection=cast.alpha, space=active_space(), documents=[two[0]])
    with pytest.raises(ArbitrationError, match="not ready"):
        DatabaseCandidateStore(collection=cast.alpha, space=active_space())


# --- queries ------------------------------------------------------------------------------------------


def test_many_spans_take_one_query(
    cast: Cast, two: tuple[Document, Document], django_assert_num_queries
) -> None:
    scope = DatabaseCandidateStore(collection=cast.alpha, space=active_space())
    spans = [(two[n % 2].public_id, 1, n % 5 + 1, 1, n % 5 + 3) for n in range(60)]

    with django_assert_num_queries(1):
        found = scope.lines_of_scopes(spans)

    assert len(found) == 60
    assert all(rows for rows in found)


def test_the_graph_and_the_exact_scan_agree(
    cast: Cast, two: tuple[Document, Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    randoms = np.random.default_rng(7)
    for document in two:
        for vector in PassageVector.objects.filter(document=document):
            values = randoms.normal(size=384)
            vector.embedding = (values / np.linalg.norm(values)).tolist()
            vector.save(update_fields=["embedding"])
    queries = [row / np.linalg.norm(row) for row in randoms.normal(size=(3, 384)).astype(np.float32)]
    scopes: list[list[Document] | None] = [None, [two[0]]]

    for documents in scopes:
        scope = DatabaseCandidateStore(collection=cast.alpha, space=active_space(), documents=documents)
        exact = scope.vector(queries)
        with monkeypatch.context() as patch:
            patch.setattr(store, "EXACT_SCAN_LIMIT", -1)
            graph = scope.vector(queries)

        assert places(exact) == places(graph)
        assert [r.score for r in graph] == pytest.approx(
            [r.score for r in exact], abs=0.002
        )  # half precision


def test_a_graph_that_gives_too_little_is_not_believed(
    cast: Cast, two: tuple[Document, Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A walk of the graph ends early where dead rows or equal texts are in the way."""
    scope = DatabaseCandidateStore(collection=cast.alpha, space=active_space())
    vectors = HashEmbedder().embed(["records kept"])
    exact = scope.vector(vectors)
    nearest = scope._nearest
    monkeypatch.setattr(store, "EXACT_SCAN_LIMIT", -1)
    monkeypatch.setattr(
        scope,
        "_nearest",
        lambda v, *, limit, exact: nearest(v, limit=limit, exact=True)[: None if exact else 1],
    )

    assert places(scope.vector(vectors)) == places(exact)


# --- connections --------------------------------------------------------------------------------------


@pytest.fixture
def production_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections live on between questions, as they do in a worker."""
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 60)
    monkeypatch.setitem(connection.settings_dict, "CONN_HEALTH_CHECKS", True)


@pytest.mark.django_db(transaction=True)
def test_detectors_go_on_after_the_database_dropped_their_connections(
    cast: Cast, here: None, production_connections: None
) -> None:
    document = make_document(collection=cast.alpha, owner=cast.analyst)

    def errors() -> list[str | None]:
        scope = DatabaseCandidateStore(collection=cast.alpha, space=active_space(), documents=[document])
        pool = detect(
            question="How long are access records kept under section 2?",
            store=scope,
            embedder=HashEmbedder(),
            settings=EngineSettings(concurrent=True),
        )
        assert pool.candidates
        return [outcome.error for outcome in pool.outcomes]

    try:
        before = errors()
        assert _terminate_others() > 0
        after = errors()
    finally:
        end_threads()

    assert len(before) > 2
    assert before == after == [None] * len(before)


@pytest.mark.django_db(transaction=True)
def test_age_alone_closes_no_connection_between_two_reads(production_connections: None) -> None:
    def session() -> int:
        with fresh_connection().cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            return int(cursor.fetchone()[0])

    before = session()
    connection.close_at = 0.0
    assert session() == before
    connection.close_if_unusable_or_obsolete()
    assert session() != before, "where a request ends, its age still counts"


@pytest.mark.django_db(transaction=True)
def test_a_connection_is_tried_out_only_when_its_server_said_something(
    production_connections: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.close()  # the next one is made with these settings
    tried: list[bool] = []
    is_usable = DatabaseWrapper.is_usable

    def noted(wrapper: DatabaseWrapper) -> bool:
        tried.append(is_usable(wrapper))
        return tried[-1]

    monkeypatch.setattr(DatabaseWrapper, "is_usable", noted)

    def session() -> int:
        with fresh_connection().cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            return int(cursor.fetchone()[0])

    before = session()
    assert session() == before
    assert tried == []

    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [before])
    other.close()
    assert session() != before
    assert tried == [False]


@pytest.mark.django_db(transaction=True)
def test_the_threads_of_detectors_end_with_their_sessions(
    cast: Cast, here: None, production_connections: None
) -> None:
    document = make_document(collection=cast.alpha, owner=cast.analyst)
    scope = DatabaseCandidateStore(collection=cast.alpha, space=active_space(), documents=[document])
    detect(question="How long are access records kept?", store=scope, embedder=HashEmbedder())
    assert _other_sessions() > 0

    end_threads()
    gc.collect()

    eventually(lambda: _other_sessions() == 0, seconds=10, what="the sessions end")


def _other_sessions() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


def _terminate_others() -> int:
    """Ends every other session of the test database, as a restart would."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


@pytest.fixture(autouse=True)
def _own_collections(db: None) -> Iterator[None]:
    yield
    assert Collection.objects.count() <= 2
