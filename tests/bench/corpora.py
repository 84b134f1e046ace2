"""Synthetic corpora of any size, written by COPY: text of a Zipf vocabulary, vectors drawn from clusters.

Nothing is parsed or embedded, so that a million passages take minutes. What a search meets is as in real documents:
passages of 20 to 220 words about a topic, in lines of a dozen words, under two levels of titles; function words are
the commonest words; passages of one topic share rarer words and stand near each other in the vector space.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from arbitration.stopwords import STOP_WORDS

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.intp]

PASSAGES_PER_DOCUMENT = 250
PASSAGES_PER_SECTION = 5
SECTIONS_PER_CHAPTER = 5
PASSAGES_PER_PAGE = 4
WORDS_PER_LINE = 12
WIDTH = 384

VOCABULARY = 60_000
TOPICS = 400
WORDS_PER_TOPIC = 150
#: Share of a passage's words that are of its topic; the others follow the whole vocabulary's frequencies.
TOPICAL = 0.18
#: Mandelbrot's form of Zipf's law, 1 / (rank + q)^s.
ZIPF_S, ZIPF_Q = 1.05, 2.7
#: Length of the noise beside the unit centre of a topic and of a group of neighbouring passages.
GROUP_NOISE, PASSAGE_NOISE = 0.7, 0.5

_ONSETS = (
    "b",
    "br",
    "c",
    "cl",
    "d",
    "dr",
    "f",
    "fl",
    "g",
    "gr",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
)
_VOWELS = ("a", "e", "i", "o", "u", "ea")
_CODAS = ("", "", "", "n", "r", "l", "s", "t", "nd", "rm")
_ENDINGS = ("", "", "", "s", "ed", "ing", "tion", "ment", "al", "ity")


@dataclass(frozen=True, slots=True)
class Batch:
    """Some documents' worth of passages: their topics, words (as numbers), and unit vectors."""

    topics: Integers
    words: list[Integers]
    vectors: Floats


@dataclass
class Language:
    """A made-up language: words by falling frequency, and the words of each topic."""

    seed: int = 7
    words: npt.NDArray[np.object_] = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        functional = sorted(STOP_WORDS["en"])
        made = dict.fromkeys(_made_up(rng, 2 * VOCABULARY))
        self.words = np.array(list(dict.fromkeys([*functional, *made]))[:VOCABULARY], dtype=object)
        self.functional = len(functional)
        ranks = np.arange(len(self.words), dtype=np.float64)
        weights = 1.0 / (ranks + 1 + ZIPF_Q) ** ZIPF_S
        self._cumulated = np.cumsum(weights / weights.sum())
        # Words of a topic are neither the commonest nor the rarest.
        self.topic_words = rng.integers(self.functional + 300, VOCABULARY // 2, (TOPICS, WORDS_PER_TOPIC))

    def drawn(self, rng: np.random.Generator, count: int) -> Integers:
        """Word numbers by frequency."""
        return np.asarray(np.searchsorted(self._cumulated, rng.random(count)), dtype=np.intp).clip(
            0, len(self.words) - 1
        )

    def text(self, numbers: Sequence[int] | Integers) -> str:
        """The words, in order."""
        return " ".join(self.words[numbers])


def _made_up(rng: np.random.Generator, count: int) -> list[str]:
    """Words of one to three syllables with the endings of English, about as long as its words; some come twice."""
    syllables = rng.choice((1, 2, 3), size=count, p=(0.3, 0.55, 0.15))
    made = np.full(count, "", dtype=object)
    for number in range(3):
        syllable = _picked(rng, _ONSETS, count) + _picked(rng, _VOWELS, count) + _picked(rng, _CODAS, count)
        made = made + np.where(syllables > number, syllable, "")
    return list(made + _picked(rng, _ENDINGS, count))


def _picked(rng: np.random.Generator, among: Sequence[str], count: int) -> npt.NDArray[np.object_]:
    return np.array(among, dtype=object)[rng.integers(len(among), size=count)]


@dataclass
class Corpus:
    """Grows a collection to a wanted number of passages, and asks questions about what it wrote."""

    collection: Any
    space: Any
    actor: Any
    seed: int = 11
    passages: int = 0
    language: Language = field(default_factory=Language)
    #: Spent on writing texts, on writing vectors, and on building the vectors' index.
    seconds: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._asked: list[tuple[Integers, Floats]] = []

    @cached_property
    def _centres(self) -> Floats:
        return _unit(self._rng.normal(size=(TOPICS, WIDTH)))

    def grow(self, wanted: int) -> None:
        """Writes documents until there are ``wanted`` passages; the vectors' index is built anew, as the lexical one
        is brought up to date by the first question."""
        from django.db import connection

        from workbench.documents.services import index_epoch_bump

        index = f"documents_vector_hnsw_{self.space.pk}"
        with connection.cursor() as cursor:
            cursor.execute(f"DROP INDEX IF EXISTS {index}")
            while self.passages < wanted:
                self._write(cursor, min(8 * PASSAGES_PER_DOCUMENT, wanted - self.passages))
            cursor.execute("SET maintenance_work_mem = '2GB'")
            started = time.perf_counter()
            cursor.execute(
                f"CREATE INDEX {index} ON documents_passagevector USING hnsw"
                f" ((embedding::halfvec({WIDTH})) halfvec_cosine_ops) WITH (m = 16, ef_construction = 64)"
                f" WHERE space_id = {self.space.pk}"
            )
            self.seconds["vector index"] += time.perf_counter() - started
            cursor.execute("RESET maintenance_work_mem")
            for table in ("document", "section", "line", "passage", "passagevector"):
                cursor.execute(f"VACUUM ANALYZE documents_{table}")
        index_epoch_bump(collection_ids=[self.collection.pk])

    def questions(self, count: int, *, batch: int = 0) -> list[tuple[str, Floats]]:
        """Questions in the words of passages that were written, each with a vector near its passage; those of another
        ``batch`` are others."""
        rng = np.random.default_rng(self.seed + self.passages + 10**9 * batch)
        chosen = rng.choice(len(self._asked), size=count, replace=len(self._asked) < count)
        return [self._question(rng, *self._asked[place]) for place in chosen]

    def _question(self, rng: np.random.Generator, words: Integers, vector: Floats) -> tuple[str, Floats]:
        telling = np.unique(words[words >= self.language.functional + 60])
        names = [str(word) for word in self.language.words[rng.permutation(telling)[:6]]]
        names += ["record"] * (6 - len(names))
        a, b, c, d, e, f = names
        text = f"Which {a} {b} must be kept under the {c}, and when is the {d} {e} due for {f}?"
        return text, _unit(vector[None] + 0.3 * _unit(rng.normal(size=(1, WIDTH))))[0]

    def _write(self, cursor: Any, count: int) -> None:
        from workbench.documents.vectors import vectors_write

        batch = self._batch(count)
        documents = self._documents(count)
        cursor.execute(
            "SELECT setval(pg_get_serial_sequence('documents_passage', 'id'),"
            " nextval(pg_get_serial_sequence('documents_passage', 'id')) + %s)",
            [count],
        )
        first = int(cursor.fetchone()[0]) - count
        texts = [self._lines(words) for words in batch.words]
        places = _places([len(lines) for lines in texts])
        started = time.perf_counter()
        _copy(cursor, "line", _LINE, _line_rows(documents, places, texts))
        _copy(cursor, "section", _SECTION, self._section_rows(documents, places, batch))
        _copy(cursor, "passage", _PASSAGE, _passage_rows(documents, places, texts, first))
        texts_written = time.perf_counter()
        vectors_write(
            space=self.space,
            collection_id=self.collection.pk,
            document_ids=documents,
            passage_ids=first + np.arange(count),
            vectors=batch.vectors,
        )
        self.seconds["texts"] += texts_written - started
        self.seconds["vectors"] += time.perf_counter() - texts_written
        step = max(1, count // 40)
        self._asked += [(batch.words[n], batch.vectors[n]) for n in range(0, count, step)]
        self.passages += count

    def _batch(self, count: int) -> Batch:
        """Neighbouring passages, five at a time, are of one topic and near each other."""
        rng, language = self._rng, self.language
        groups = -(-count // PASSAGES_PER_SECTION)
        topic_of_group = rng.integers(0, TOPICS, groups)
        centres = _unit(self._centres[topic_of_group] + GROUP_NOISE * _unit(rng.normal(size=(groups, WIDTH))))
        group = np.arange(count) // PASSAGES_PER_SECTION
        vectors = _unit(centres[group] + PASSAGE_NOISE * _unit(rng.normal(size=(count, WIDTH))))
        lengths = np.exp(rng.normal(np.log(85), 0.5, count)).astype(np.intp).clip(20, 220)
        drawn = language.drawn(rng, int(lengths.sum()))
        owner = np.repeat(np.arange(count), lengths)
        topical = rng.random(len(drawn)) < TOPICAL
        rank = (WORDS_PER_TOPIC * rng.random(len(drawn)) ** 2).astype(np.intp)
        of_topic = language.topic_words[topic_of_group[group[owner]], rank]
        numbers = np.where(topical, of_topic, drawn)
        return Batch(topic_of_group[group], np.split(numbers, np.cumsum(lengths)[:-1]), vectors)

    def _lines(self, words: Integers) -> list[str]:
        text = self.language.words[words]
        lines = [
            " ".join(text[start : start + WORDS_PER_LINE]) for start in range(0, len(text), WORDS_PER_LINE)
        ]
        lines[0], lines[-1] = lines[0].capitalize(), f"{lines[-1]}."
        return lines

    def _documents(self, passages: int) -> list[int]:
        """The key of the document of each passage."""
        from django.utils import timezone

        from workbench.documents.models import Document, DocumentStatus

        sizes = [
            min(PASSAGES_PER_DOCUMENT, passages - start)
            for start in range(0, passages, PASSAGES_PER_DOCUMENT)
        ]
        number = self.passages
        rows = Document.objects.bulk_create(
            Document(
                collection=self.collection,
                sha256=f"{number + place:064x}",
                name=f"synthetic-{number + place}.txt",
                title=f"Synthetic {number + place}",
                size=1,
                file="none",
                status=DocumentStatus.READY,
                page_count=-(-size // PASSAGES_PER_PAGE),
                line_count=8 * size,
                section_count=_sections(size),
                passage_count=size,
                character_count=600 * size,
                toc_source="headings",
                uploaded_by=self.actor,
                finished_at=timezone.now(),
            )
            for place, size in enumerate(sizes)
        )
        return [row.pk for row, size in zip(rows, sizes, strict=True) for _ in range(size)]

    def _section_rows(
        self, documents: Sequence[int], places: Sequence[_Place], batch: Batch
    ) -> Iterator[str]:
        """A chapter is a section that holds the next five; each has a title of words of its topic."""
        for start, end in _runs(documents):
            ordinal = 0
            for chapter in range(start, end, PASSAGES_PER_SECTION * SECTIONS_PER_CHAPTER):
                stop = min(end, chapter + PASSAGES_PER_SECTION * SECTIONS_PER_CHAPTER)
                parent = self._title(batch, chapter, 2)
                ordinal += 1
                head = f"c{ordinal}"
                yield _section(documents[start], ordinal, head, 1, "", parent, parent, places, chapter, stop)
                for number, first in enumerate(range(chapter, stop, PASSAGES_PER_SECTION), start=1):
                    last = min(stop, first + PASSAGES_PER_SECTION)
                    title = self._title(batch, first, 3)
                    crumb = f"{parent} › {title}"
                    name = f"s{first - start}"
                    ordinal += 1
                    yield _section(
                        documents[start], ordinal, name, 2, head, f"{number} {title}", crumb, places, first, last
                    )  # fmt: skip

    def _title(self, batch: Batch, passage: int, length: int) -> str:
        numbers = self.language.topic_words[batch.topics[passage]]
        chosen = numbers[(len(numbers) * self._rng.random(length) ** 2).astype(np.intp)]
        return self.language.text(chosen).title()


@dataclass(frozen=True, slots=True)
class _Place:
    """The page and the lines of a passage."""

    page: int
    first: int
    last: int


def _places(lines: Sequence[int]) -> list[_Place]:
    """Four passages a page, one after the other; each document begins on its page 1."""
    places: list[_Place] = []
    for number, count in enumerate(lines):
        page = number % PASSAGES_PER_DOCUMENT // PASSAGES_PER_PAGE + 1
        start = (
            places[-1].last + 1
            if places and places[-1].page == page and number % PASSAGES_PER_DOCUMENT
            else 1
        )
        places.append(_Place(page, start, start + count - 1))
    return places


def _runs(documents: Sequence[int]) -> Iterator[tuple[int, int]]:
    """From and to which passage each document goes."""
    cuts = [n for n in range(1, len(documents)) if documents[n] != documents[n - 1]]
    return pairwise([0, *cuts, len(documents)])


def _sections(passages: int) -> int:
    leaves = -(-passages // PASSAGES_PER_SECTION)
    return leaves + -(-leaves // SECTIONS_PER_CHAPTER)


_LINE = (
    "document_id, page_num, line_num, text, character_count, column_position, section_id, parsing_method,"
    " is_furniture, is_hidden"
)
_SECTION = (
    "document_id, ordinal, section_id, level, parent_id, title, breadcrumb, start_page, end_page, line_start,"
    " line_end, own_page_end, own_line_end, has_children"
)
_PASSAGE = "id, document_id, ordinal, page_start, line_start, page_end, line_end, section_id, text, text_hash"


def _section_of(number: int) -> str:
    place = number % PASSAGES_PER_DOCUMENT
    return f"s{place - place % PASSAGES_PER_SECTION}"


def _line_rows(
    documents: Sequence[int], places: Sequence[_Place], texts: Sequence[list[str]]
) -> Iterator[str]:
    for number, (document, place, lines) in enumerate(zip(documents, places, texts, strict=True)):
        section = _section_of(number)
        for line_num, text in enumerate(lines, start=place.first):
            yield f"{document}\t{place.page}\t{line_num}\t{text}\t{len(text)}\t0\t{section}\ttext\tf\tf\n"


def _passage_rows(
    documents: Sequence[int], places: Sequence[_Place], texts: Sequence[list[str]], first: int
) -> Iterator[str]:
    for number, (document, place, lines) in enumerate(zip(documents, places, texts, strict=True)):
        yield (
            f"{first + number}\t{document}\t{number % PASSAGES_PER_DOCUMENT}\t{place.page}\t{place.first}"
            f"\t{place.page}\t{place.last}\t{_section_of(number)}\t{' '.join(lines)}\t{first + number:064x}\n"
        )


def _section(
    document: int,
    ordinal: int,
    name: str,
    level: int,
    parent: str,
    title: str,
    crumb: str,
    places: Sequence[_Place],
    first: int,
    last: int,
) -> str:
    begin, end = places[first], places[last - 1]
    # A chapter has no lines before its first section.
    own = (begin.page, max(0, begin.first - 1)) if level == 1 else (end.page, end.last)
    return (
        f"{document}\t{ordinal}\t{name}\t{level}\t{parent}\t{title}\t{crumb}\t{begin.page}\t{end.page}"
        f"\t{begin.first}\t{end.last}\t{own[0]}\t{own[1]}\t{'t' if level == 1 else 'f'}\n"
    )


def _copy(cursor: Any, table: str, columns: str, rows: Iterator[str]) -> None:
    with cursor.copy(f"COPY documents_{table} ({columns}) FROM STDIN") as copy:
        copy.write("".join(rows))


def _unit(vectors: npt.NDArray[Any]) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
