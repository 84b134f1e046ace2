"""The lexical index: it finds what the matcher finds, keeps up with the database, and heals itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
import tantivy
from django.db import connection
from django.db.models.functions import Now
from hypothesis import given, settings
from hypothesis import strategies as st

from arbitration.text import TermMatcher
from tests.workbench.cast import Cast
from tests.workbench.scene import make_document
from workbench.documents import lexical
from workbench.documents.embedding import active_space
from workbench.documents.lexical import LexicalIndex, TantivyVocabulary, lexical_index, tantivy_query
from workbench.documents.models import Collection, Document, DocumentStatus
from workbench.documents.services import index_epoch_bump
from workbench.documents.store import DatabaseCandidateStore
from workbench.documents.term_queries import TermQueries, index_words, query_words
from workbench.documents.text_index import PASSAGE, SECTION, entry, passage_words

# --- what the matcher finds ---------------------------------------------------------------------------

ENGLISH = [
    "cybersecurity", "cyber", "security", "S C O P E", "scope", "ISO 27001", "ISO27001", "iso-27001", "GDPR", "gdpr",
    "GDPRs", "PR.AC-1", "pr.ac-1", "PR.AC", "policy", "policies", "client's", "clients’", "2016", "2016-17", "§ 4.2(b)",
    "§4.2(b)", "data", "protection", "data protection", "dataprotection", "foo_bar", "confident", "ial",
    "confidentiality", "32,502", "ISSUES", "issues", "WHO", "who", "reten-", "tion", "retention", "counter", "part",
    "counterpart", "counterparties", "respons", "ibil", "ities", "responsibilities", "R E S P O N S I B I L I T I E S",
    "AT&T", "naïve", "naive", "ﬁrst", "first",
]  # fmt: skip
SPANISH = [
    "retención", "retencion", "políticas", "política", "ciber", "seguridad", "ciberseguridad", "administración",
    "administra", "ción", "responsabilidades", "responsabili", "dades", "protección de datos", "datos", "Ley 1581",
    "LOPD", "A L C A N C E", "alcance", "año", "años", "niño's", "corresponsabilidad", "corres", "ponsabilidad",
]  # fmt: skip
GAPS = st.sampled_from([" ", " ", " ", "-", "/", ", ", ". ", "  ", " the "])


def a_line(vocabulary: Sequence[str]) -> st.SearchStrategy[str]:
    word = st.sampled_from(vocabulary) | st.text("aceinorst", min_size=1, max_size=4)
    return st.lists(st.tuples(word, GAPS), min_size=1, max_size=8).map(
        lambda pairs: "".join(word + gap for word, gap in pairs).strip()
    )


def index_of(lines: Sequence[str], language: str) -> tuple[tantivy.Schema, tantivy.Searcher]:
    """One passage of these lines, as the product indexes it."""
    schema = lexical._schema()
    index = tantivy.Index(schema)
    writer = index.writer(heap_size=15_000_000, num_threads=1)
    words = passage_words(" ".join(lines), lines, language)
    made = entry(kind=PASSAGE, words=words, texts=lines, payload={})
    writer.add_document(lexical.tantivy_document(made, document_pk=1))
    writer.commit()
    index.reload()
    return schema, index.searcher()


def missed(terms: Sequence[str], lines: Sequence[str], language: str) -> list[str]:
    """The terms that stand in a line by the matcher's word, and that the index does not find."""
    matcher = TermMatcher(terms, language)
    present = {term for line in lines for term in matcher.matched(line)}
    schema, searcher = index_of(lines, language)
    queries = TermQueries(TantivyVocabulary(searcher))

    def finds(term: str) -> bool:
        found = [tantivy_query(query, schema) for query in queries.holding(term, language)]
        return any(searcher.search(query, limit=1, count=True).count for query in found)

    return [term for term in terms if term in present and not finds(term)]


class TestTheMatchersEqual:
    """Whatever the matcher finds in a line, the index finds: else an absence would be proved that is none."""

    @given(st.lists(a_line(ENGLISH), min_size=1, max_size=4))
    @settings(max_examples=80, deadline=None)
    def test_english(self, lines: list[str]) -> None:
        assert missed(ENGLISH, lines, "en") == []

    @given(st.lists(a_line(SPANISH), min_size=1, max_size=4))
    @settings(max_examples=80, deadline=None)
    def test_spanish(self, lines: list[str]) -> None:
        assert missed(SPANISH, lines, "es") == []

    @pytest.mark.parametrize(
        ("term", "line"),
        [
            ("ISO 27001", "certified to ISO 27001 since"),
            ("ISO27001", "certified to iso 27001 since"),
            ("ISO 27001", "certified to ISO-27001."),
            ("PR.AC-1", "see pr.ac-1 below"),
            ("ISSUES", "open issues remain"),
            ("GDPR", "two GDPRs"),
            ("§ 4.2(b)", "under §4.2(b) of this"),
            ("cyber security", "our cybersecurity team"),
            ("cybersecurity", "our cyber-security team"),
            ("confidentiality", "the con fi dentiality of"),
            ("counterparties", "each counter party signs"),
            ("scope", "S C O P E"),
            ("responsibilities", "R E S P O N S I B I L I T I E S"),
            ("clients", "the client's data"),
        ],
    )
    def test_forms_that_words_alone_would_miss(self, term: str, line: str) -> None:
        assert TermMatcher([term]).matched(line), "the matcher itself does not find this"
        assert missed([term], [line], "en") == []

    def test_a_line_is_found_by_its_own_words_though_the_passage_joins_them(self) -> None:
        """``cross-`` at a line's end becomes ``crossborder`` in the passage."""
        words = passage_words("any crossborder transfer", ["any cross-", "border transfer"], "en")

        assert {"crossbord", "cross", "border"} <= set(words)

    def test_words_of_lines_that_read_the_same_are_there_once(self) -> None:
        assert passage_words("kept ten years", ["kept ten", "years"], "en") == ["kept", "ten", "year"]

    def test_a_code_is_one_word_without_its_blank(self) -> None:
        assert "iso27001" in index_words("ISO 27001", "en")
        assert query_words(["ISO 27001"], "en") == ["iso27001"]


# --- keeping up with the database ---------------------------------------------------------------------

RETENTION = {"1 Retention": ["Access records are kept for ten years.", "Payment records are kept longer."]}
DELETION = {"1 Deletion": ["Backups are destroyed after ninety days.", "The register names each deletion."]}
SCOPE = {"1 Scope": ["This charter covers all subsidiaries.", "It binds every contractor."]}


@pytest.fixture(autouse=True)
def _here(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("django_db") or "cast" in request.fixturenames:
        request.getfixturevalue("here")


def passages_with(index: LexicalIndex, word: str, documents: Sequence[int] | None = None) -> list[int]:
    hits = index.search(kind=PASSAGE, any_of=query_words([word], "en"), documents=documents, limit=50)
    return [hit.document_pk for hit in hits]


def another_process(collection: Collection) -> LexicalIndex:
    """The same index as a second worker on this machine has it."""
    lexical._indexes.clear()
    return lexical_index(collection)


def _hits(cast: Cast, term: str, documents: Sequence[Document] | None = None) -> int:
    store = DatabaseCandidateStore(collection=cast.alpha, space=active_space(), documents=documents)
    return store.count_hits([term])[term]


class TestKeepingUp:
    def test_a_new_document_is_found_and_a_removed_one_is_not(self, cast: Cast) -> None:
        first = make_document(collection=cast.alpha, owner=cast.analyst, name="a", text=RETENTION)
        assert passages_with(lexical_index(cast.alpha), "records") == [first.pk]

        second = make_document(collection=cast.alpha, owner=cast.analyst, name="b", text=DELETION)
        Document.objects.filter(pk=first.pk).update(status=DocumentStatus.CANCELLED)
        index_epoch_bump(collection_ids=[cast.alpha.pk])

        index = lexical_index(cast.alpha)
        assert passages_with(index, "records") == []
        assert passages_with(index, "backups") == [second.pk]

    def test_counts_are_kept_until_the_documents_change(self, cast: Cast, monkeypatch) -> None:
        first = make_document(collection=cast.alpha, owner=cast.analyst, name="a", text=RETENTION)
        assert _hits(cast, "records") > 0

        with monkeypatch.context() as patch:
            patch.setattr(LexicalIndex, "count", _crash)
            assert _hits(cast, "records") > 0
            with pytest.raises(RuntimeError):  # of chosen documents it is counted each time
                _hits(cast, "records", documents=[first])

        make_document(collection=cast.alpha, owner=cast.analyst, name="b", text=DELETION)
        Document.objects.filter(pk=first.pk).update(status=DocumentStatus.CANCELLED)
        index_epoch_bump(collection_ids=[cast.alpha.pk])
        assert _hits(cast, "records") == 0
        assert _hits(cast, "backups") > 0

    def test_a_document_read_again_is_indexed_again(self, cast: Cast) -> None:
        document = make_document(collection=cast.alpha, owner=cast.analyst, text=RETENTION)
        lexical_index(cast.alpha)
        document.passages.update(text="Quarterly audits happen.")
        document.lines.update(text="Quarterly audits happen.")
        Document.objects.filter(pk=document.pk).update(finished_at=Now())
        index_epoch_bump(collection_ids=[cast.alpha.pk])

        index = lexical_index(cast.alpha)

        assert passages_with(index, "records") == []
        assert passages_with(index, "audits") == [document.pk]

    def test_without_a_change_nothing_is_read(self, cast: Cast, django_assert_num_queries) -> None:
        make_document(collection=cast.alpha, owner=cast.analyst, text=RETENTION)
        lexical_index(cast.alpha)

        with django_assert_num_queries(1):
            lexical_index(cast.alpha)

    def test_another_process_takes_the_index_over_as_it_is(self, cast: Cast, monkeypatch) -> None:
        document = make_document(collection=cast.alpha, owner=cast.analyst, text=RETENTION)
        lexical_index(cast.alpha)
        monkeypatch.setattr(lexical, "entries", lambda pk: pytest.fail("it was indexed again"))

        assert passages_with(another_process(cast.alpha), "records") == [document.pk]

    def test_a_crash_before_the_manifest_leaves_no_entry_twice(self, cast: Cast, monkeypatch) -> None:
        make_document(collection=cast.alpha, owner=cast.analyst, text=RETENTION)

        with monkeypatch.context() as patch:
            patch.setattr(LexicalIndex, "_write_manifest", _crash)
            with pytest.raises(RuntimeError):
                lexical_index(cast.alpha)

        assert len(passages_with(another_process(cast.alpha), "records")) == 1

    def test_a_crash_in_the_middle_of_writing_leaves_nothing(self, cast: Cast, monkeypatch) -> None:
        document = make_document(collection=cast.alpha, owner=cast.analyst, text=RETENTION)

        with monkeypatch.context() as patch:
            patch.setattr(lexical, "tantivy_document", _crash)
            with pytest.raises(RuntimeError):
                lexical_index(cast.alpha)

        assert passages_with(lexical_index(cast.alpha), "records") == [document.pk]

    def test_a_document_that_goes_while_it_is_indexed_harms_nothing(self, cast: Cast, monkeypatch) -> None:
        kept = make_document(collection=cast.alpha, owner=cast.analyst, name="a", text=RETENTION)
        stamps = lexical._stamps
        monkeypatch.setattr(
            lexical, "_stamps", lambda collection: stamps(collection) | {999_999_999: "en gone"}
        )

        assert passages_with(lexical_index(cast.alpha), "records") == [kept.pk]

    def test_body_lines_leave_out_furniture_and_hidden_text(self, cast: Cast) -> None:
        document = make_document(collection=cast.alpha, owner=cast.analyst, text=RETENTION)
        document.lines.filter(line_num=2).update(is_hidden=True)

        index = lexical_index(cast.alpha)

        assert index.body_lines(document.pk) == 2  # heading and second sentence
        assert index.body_lines(0) == 0


def _crash(*_: object, **__: object) -> None:
    raise RuntimeError("killed")


class TestHealing:
    """Deleting or damaging the folder loses nothing."""

    @pytest.fixture
    def document(self, cast: Cast) -> Document:
        found = make_document(collection=cast.alpha, owner=cast.analyst, text=RETENTION)
        lexical_index(cast.alpha)
        return found

    @pytest.fixture
    def folder(self, cast: Cast, document: Document) -> Path:
        return lexical_index(cast.alpha)._folder

    def test_a_deleted_folder(self, cast: Cast, document: Document, folder: Path) -> None:
        shutil.rmtree(folder)

        assert passages_with(another_process(cast.alpha), "records") == [document.pk]

    def test_a_folder_deleted_under_a_running_process(
        self, cast: Cast, document: Document, folder: Path
    ) -> None:
        shutil.rmtree(folder)
        index_epoch_bump(collection_ids=[cast.alpha.pk])

        assert passages_with(lexical_index(cast.alpha), "records") == [document.pk]

    def test_an_index_of_an_older_version(self, cast: Cast, document: Document, folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_text())
        (folder / "manifest.json").write_text(json.dumps(manifest | {"version": 1}))

        assert passages_with(another_process(cast.alpha), "records") == [document.pk]

    @pytest.mark.parametrize(
        "content", ["", "{", "[]", "null", '{"version": 2}', '{"version": 2, "documents": {"x": 1}}']
    )
    def test_a_manifest_that_is_none(
        self, cast: Cast, document: Document, folder: Path, content: str
    ) -> None:
        (folder / "manifest.json").write_text(content)

        assert passages_with(another_process(cast.alpha), "records") == [document.pk]

    @pytest.mark.parametrize("part", ["passages", "sections"])
    @pytest.mark.parametrize("damage", ["meta", "meta_empty", "segments", "truncated", "half_deleted"])
    def test_lost_or_damaged_files(
        self, cast: Cast, document: Document, folder: Path, damage: str, part: str
    ) -> None:
        folder /= part
        segments = [path for path in folder.iterdir() if path.suffix in {".term", ".idx", ".store", ".fast"}]
        assert segments
        match damage:
            case "meta":
                (folder / "meta.json").write_text("{")
            case "meta_empty":
                (folder / "meta.json").write_text("")
            case "segments":
                for path in segments:
                    path.unlink()
            case "truncated":
                for path in segments:
                    path.write_bytes(path.read_bytes()[:7])
            case "half_deleted":  # an index that looks whole and is empty would prove absences
                for path in folder.iterdir():
                    path.unlink()

        assert passages_with(another_process(cast.alpha), "records") == [document.pk]

    def test_a_second_process_rebuilds_while_the_first_has_it_open(
        self, cast: Cast, document: Document, folder: Path
    ) -> None:
        first = lexical_index(cast.alpha)
        (folder / "manifest.json").unlink()
        second = another_process(cast.alpha)
        added = make_document(collection=cast.alpha, owner=cast.analyst, name="b", text=DELETION)

        first.bring_up_to_date(cast.alpha)
        second.bring_up_to_date(cast.alpha)

        for index in (first, second):
            assert passages_with(index, "records") == [document.pk]
            assert passages_with(index, "backups") == [added.pk]


class TestScope:
    def test_the_filter_never_lets_another_document_through(self, cast: Cast) -> None:
        first = make_document(collection=cast.alpha, owner=cast.analyst, name="a", text=RETENTION)
        second = make_document(collection=cast.alpha, owner=cast.analyst, name="b", text=RETENTION)
        index = lexical_index(cast.alpha)

        assert passages_with(index, "records", [first.pk]) == [first.pk]
        assert passages_with(index, "records", []) == []
        holding = index.term_queries(PASSAGE).holding("records", "en")
        assert index.count(kind=PASSAGE, any_of=holding, documents=[second.pk]) == 1
        assert index.count(kind=PASSAGE, any_of=holding, documents=None) == 2

    def test_another_collection_has_an_index_of_its_own(self, cast: Cast) -> None:
        make_document(collection=cast.alpha, owner=cast.analyst, text=RETENTION)
        make_document(collection=cast.beta, owner=cast.outsider, text=DELETION)

        assert passages_with(lexical_index(cast.beta), "records") == []

    def test_a_filter_changes_no_score(self, cast: Cast) -> None:
        for name, text in (("a", RETENTION), ("b", DELETION), ("c", SCOPE)):
            make_document(collection=cast.alpha, owner=cast.analyst, name=name, text=text)
        index = lexical_index(cast.alpha)
        everywhere = index.search(kind=PASSAGE, any_of=["record", "delet", "bind"], documents=None, limit=10)
        assert len(everywhere) == 3

        for hit in everywhere:
            (alone,) = index.search(
                kind=PASSAGE, any_of=["record", "delet", "bind"], documents=[hit.document_pk], limit=10
            )
            assert alone.score == pytest.approx(hit.score)

    def test_titles_weigh_nothing_in_the_scores_of_passages(self, cast: Cast) -> None:
        make_document(collection=cast.alpha, owner=cast.analyst, name="a", text=RETENTION)
        index = lexical_index(cast.alpha)
        (before,) = index.search(kind=PASSAGE, any_of=["record"], documents=None, limit=5)
        document = make_document(collection=cast.alpha, owner=cast.analyst, name="b", text=SCOPE)
        document.passages.all().delete()
        index = lexical_index(cast.alpha)
        assert index.search(kind=SECTION, any_of=["scope"], documents=None, limit=5)
        (after,) = index.search(kind=PASSAGE, any_of=["record"], documents=None, limit=5)
        assert after.score == pytest.approx(before.score)

    def test_titles_and_passages_are_kept_apart(self, cast: Cast) -> None:
        make_document(collection=cast.alpha, owner=cast.analyst, text=SCOPE)
        index = lexical_index(cast.alpha)

        (title,) = index.search(kind=SECTION, any_of=["scope"], documents=None, limit=5)
        assert title.payload["title"] == "1 Scope"
        assert index.search(kind=SECTION, any_of=["contractor"], documents=None, limit=5) == []

    def test_a_boosted_query_counts_double(self, cast: Cast) -> None:
        make_document(collection=cast.alpha, owner=cast.analyst, text=SCOPE)
        index = lexical_index(cast.alpha)
        query = index.term_queries(PASSAGE).holding("contractor", "en")[:1]

        (once,) = index.search(kind=PASSAGE, also=query, documents=None, limit=5)
        (double,) = index.search(kind=PASSAGE, boosted=query, documents=None, limit=5)

        assert double.score == pytest.approx(2 * once.score)

    def test_no_words_find_nothing(self, cast: Cast) -> None:
        make_document(collection=cast.alpha, owner=cast.analyst, text=SCOPE)
        index = lexical_index(cast.alpha)

        assert index.search(kind=PASSAGE, any_of=["", ""], documents=None, limit=5) == []
        assert index.count(kind=PASSAGE, any_of=[], documents=None) == 0


# --- several at once ----------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_threads_that_ask_at_once_share_one_index(cast: Cast) -> None:
    document = make_document(collection=cast.alpha, owner=cast.analyst, text=RETENTION)
    found: list[list[int]] = []

    def ask() -> None:
        try:
            found.append(passages_with(lexical_index(cast.alpha), "records"))
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert found == [[document.pk]] * 4


_BUILD = """
import sys, django
from django.conf import settings
django.setup()
settings.DATABASES["default"]["NAME"] = sys.argv[1]
from pathlib import Path
settings.WORKBENCH_HOME = Path(sys.argv[2])
from workbench.documents.lexical import lexical_index
from workbench.documents.text_index import PASSAGE
from workbench.documents.models import Collection
index = lexical_index(Collection.objects.get(slug="alpha"))
print(len(index.search(kind=PASSAGE, any_of=["record"], documents=None, limit=50)))
"""


@pytest.mark.django_db(transaction=True)
def test_two_processes_building_at_once_build_one_index(cast: Cast, tmp_path: Path) -> None:
    for number in range(5):
        make_document(collection=cast.alpha, owner=cast.analyst, name=f"{number}.txt", text=RETENTION)
    name = str(connection.settings_dict["NAME"])
    command = [sys.executable, "-c", _BUILD, name, str(tmp_path / "shared")]

    workers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [worker.communicate(timeout=300) for worker in workers]

    assert [(worker.returncode, out.strip()) for worker, (out, _) in zip(workers, said, strict=True)] == [
        (0, "5"),
        (0, "5"),
    ], said
