"""What a person typed into the search field, and whether a passage holds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arbitration.text import fold, highlight_spans, is_code, is_stop_word, normalise, term_matcher, words
from workbench.documents.term_queries import Combined, Query, TermQueries

LONGEST_QUERY = 300
MOST_TERMS = 20


@dataclass(frozen=True, slots=True)
class Words:
    """Single words, found in every form, and phrases from quotation marks, found as written."""

    single: tuple[str, ...]
    phrases: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Words:
        """The words of a text. An opening quotation mark that nothing closes is no quotation mark."""
        pieces = normalise(text).split('"')
        if len(pieces) % 2 == 0:
            pieces[-2:] = [f"{pieces[-2]} {pieces[-1]}"]
        single = (word for piece in pieces[::2] for word in piece.split() if words(word))
        phrases = (" ".join(piece.split()) for piece in pieces[1::2] if words(piece))
        return cls(tuple(dict.fromkeys(single)), tuple(dict.fromkeys(phrases)))

    @property
    def terms(self) -> tuple[str, ...]:
        """Everything that is looked for."""
        return (*self.single, *self.phrases)

    def in_language(self, language: str) -> Words:
        """Without the function words of a language, unless there is nothing else."""
        telling = tuple(word for word in self.single if is_code(word) or not is_stop_word(word, language))
        return Words(telling, self.phrases) if telling or self.phrases else self

    def query(self, queries: TermQueries, language: str, *, any_word: bool) -> Query:
        """The index query: entries that hold all of it, or any."""
        each = (self.of_term(term, queries, language) for term in self.terms)
        return Combined(tuple(each), holds_all=not any_word)

    @staticmethod
    def of_term(term: str, queries: TermQueries, language: str) -> Query:
        """The index query of one term."""
        return Combined(tuple(queries.holding(term, language)))

    def stand_in(self, texts: Sequence[str], language: str, *, any_word: bool) -> bool:
        """Whether the texts, which are the same passage as a whole and line by line, hold all of it, or any. The index
        is somewhat more generous."""
        found = term_matcher(self.single, language).matched_in_each(texts)
        held = {term for in_text in found for term in in_text}
        running = [f" {' '.join(words(fold(normalise(text))))} " for text in (texts[0], " ".join(texts[1:]))]
        for phrase in self.phrases:
            wanted = f" {' '.join(words(fold(phrase)))} "
            if any(wanted in text for text in running):
                held.add(phrase)
        return bool(held) if any_word else held.issuperset(self.terms)

    def spans(self, text: str, language: str) -> list[tuple[int, int]]:
        """Where to mark the words in a text: merged offsets in order."""
        found = highlight_spans(text, self.single, language)
        found += [span for phrase in self.phrases for span in _phrase_spans(text, phrase)]
        merged: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            else:
                merged.append((start, end))
        return merged

    def each(self) -> Iterator[Words]:
        """Every word and phrase by itself."""
        yield from (Words((word,), ()) for word in self.single)
        yield from (Words((), (phrase,)) for phrase in self.phrases)


def _phrase_spans(text: str, phrase: str) -> Iterator[tuple[int, int]]:
    """Where a phrase stands in a text, whatever stands between its words."""
    folded, at = fold(text), 0
    placed: list[tuple[str, int, int]] = []
    for word in words(folded):
        start = folded.index(word, at)
        at = start + len(word)
        placed.append((word, start, at))
    wanted = words(fold(phrase))
    for place in range(len(placed) - len(wanted) + 1):
        run = placed[place : place + len(wanted)]
        if [word for word, _, _ in run] == wanted:
            yield run[0][1], run[-1][2]
