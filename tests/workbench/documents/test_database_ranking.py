"""What is scored by hand scores as in the index on a disk, so that both order alike."""

from __future__ import annotations

import pytest
import tantivy

from workbench.documents.database_ranking import Statistics, weights
from workbench.documents.lexical import _schema, tantivy_document, tantivy_query
from workbench.documents.term_queries import PARTS, WORDS, Combined, Phrase, Query
from workbench.documents.text_index import PASSAGE, Entry

TEXTS = [
    "record kept kept kept long",
    "record kept long kept long record kept long",
    "iso27001 bind all subsidiari",
    "unicorn",
    *(" ".join([f"w{number % 7}", "record", *["filler"] * number]) for number in range(20, 90, 3)),
]
ENTRIES = [Entry(PASSAGE, text, text.replace("iso27001", "iso 27001"), {}) for text in TEXTS]
QUERIES: list[Query] = [
    Phrase(WORDS, ("record",)),
    Phrase(WORDS, ("kept", "long")),
    Phrase(WORDS, ("filler",)),
    Phrase(WORDS, ("nowhere",)),
    Phrase(PARTS, ("iso", "27001")),
    Combined((Phrase(WORDS, ("unicorn",)), Phrase(PARTS, ("w3", "record")))),
]


def tantivy_scores(asked: list[tuple[Query, int]]) -> dict[int, float]:
    schema = _schema()
    index = tantivy.Index(schema)
    writer = index.writer(num_threads=1)
    for number, entry in enumerate(ENTRIES):
        writer.add_document(tantivy_document(entry, document_pk=number))
    writer.commit()
    index.reload()
    each = [
        (tantivy.Occur.Should, tantivy.Query.boost_query(tantivy_query(q, schema), times))
        for q, times in asked
    ]
    searcher = index.searcher()
    hits = searcher.search(tantivy.Query.boolean_query(each), limit=len(ENTRIES)).hits
    return {searcher.doc(address).get_first("document"): score for score, address in hits}


def statistics(counted: list[Phrase]) -> Statistics:
    def count(words: list[Phrase]) -> list[int]:
        counted.extend(words)
        return [sum(w.words[0] in getattr(e, w.field).split() for e in ENTRIES) for w in words]

    def measure() -> dict[str, float]:
        lengths = {f: [len(getattr(e, f).split()) for e in ENTRIES] for f in (WORDS, PARTS)}
        return {field: sum(each) / len(each) for field, each in lengths.items()}

    return Statistics(count, measure)


@pytest.mark.parametrize("asked", [[(query, 1)] for query in QUERIES] + [[(q, 2) for q in QUERIES]])
def test_scores_are_those_of_the_index_on_a_disk(asked: list[tuple[Query, int]]) -> None:
    scorer = statistics([]).scorer(weights(asked), len(ENTRIES))

    scores = {number: scorer.score(e.words, e.parts) for number, e in enumerate(ENTRIES)}

    found = {number: score for number, score in scores.items() if score}
    assert found == pytest.approx(tantivy_scores(asked), rel=1e-4)


def test_a_word_is_counted_once_for_a_state_of_the_index() -> None:
    counted: list[Phrase] = []
    known, word = statistics(counted), QUERIES[0]
    assert isinstance(word, Phrase)

    held = known.holding([word])[word]
    known.scorer(weights([(word, 1)]), len(ENTRIES))
    assert (held, counted) == (sum("record" in entry.words.split() for entry in ENTRIES), [word])

    known.begin_anew()
    known.scorer(weights([(word, 1)]), len(ENTRIES))
    assert counted == [word, word]
