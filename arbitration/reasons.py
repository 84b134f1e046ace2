"""The reason of a verdict that no model gave, in words: what the passage says, what speaks for it, what against it.

Detectors, ranks and probabilities are no part of it: they are evidence about the machine and stand beside the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from arbitration.as_written import as_written
from arbitration.contracts import Role
from arbitration.expected_values import (
    ValueKind,
    asking_words,
    expected_kinds,
    gives_value,
    values_in,
)
from arbitration.leading import Weighed, giving_the_value
from arbitration.phrases import phrases
from arbitration.pool import CandidatePool, PoolCandidate, WordMatch
from arbitration.questions.same_words import Term, new_terms, share_a_word
from arbitration.sentences import (
    Sentence,
    is_heading,
    is_titled,
    joined_sentences,
    says_something,
    sentences_of,
    without_heading,
    without_mark,
)
from arbitration.tables import best_row
from arbitration.text import (
    TermMatcher,
    fold,
    is_stop_word,
    quoted,
    single_quoted,
    stem,
    supported_language,
    term_matcher,
    words,
)

#: Words of a quotation, and terms that a reason names.
MOST_QUOTED = 15
_MOST_TERMS, _MOST_MISSING = 4, 2
#: Cosine from which two words say the same thing to a reader as well.
_NEAR_WORDS = 0.6
#: A sentence of fewer words is a heading's number or what a table left over.
_FEWEST_WORDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Quotable(Weighed):
    sentence: Sentence


@dataclass(frozen=True)
class ReasonWriter:
    """Writes the reasons over one pool, in the question's language. ``is_named`` and ``meets`` of a candidate are what
    the rules read: the question names its place, its keywords stand together."""

    pool: CandidatePool

    def reason(
        self, candidate: PoolCandidate, role: Role, *, is_named: bool = False, meets: bool = False
    ) -> str:
        """Whole sentences for one verdict; the quotation in it is cut from the passage."""
        sentence = self._best_sentence(candidate)
        is_value_given = bool(candidate.signals.expected_value)
        said = self._parts["states" if is_value_given and role is Role.PRIMARY else "says"]
        sentences = [
            said.format(quote=self._quote(sentence, candidate)) if sentence else "",
            self._place(candidate) if is_named else "",
            self._terms(candidate, role, meets=meets),
            self._parts["heading_only"] if _is_bare_heading(candidate) else "",
            self._value(candidate),
        ]
        return " ".join(filter(None, sentences))

    @property
    def _language(self) -> str:
        return supported_language(self.pool.question.language)

    @property
    def _parts(self) -> Mapping[str, str]:
        return phrases("reasons", self._language)

    @cached_property
    def _kinds(self) -> frozenset[ValueKind]:
        return expected_kinds(self.pool.question.normalised)

    @cached_property
    def _asked(self) -> tuple[str, ...]:
        """The single words of the question that a passage can be expected to have, those that ask aside."""
        asking = {word.casefold() for word in asking_words(self.pool.question.normalised)}
        return tuple(
            keyword.term
            for keyword in self.pool.question.keywords
            if keyword.source == "question"
            and not keyword.is_phrase
            and keyword.term.casefold() not in asking
        )

    def _best_sentence(self, candidate: PoolCandidate) -> Sentence | None:
        """The sentence nearest to the question, or one that gives the value asked for where that gives none; the
        longest where none says something."""
        found = sentences_of(candidate.anchor_text)
        language = self._language_of(candidate)
        whole = [
            _Quotable(
                text=sentence.text, language=language, weight=weight, order=(0, place), sentence=sentence
            )
            for place, (sentence, weight) in enumerate(
                joined_sentences(found, self._weights(found, candidate))
            )
            if len(sentence.text.split()) >= _FEWEST_WORDS
            and not is_heading(sentence.text)
            and not is_titled(sentence.text)
        ]
        if not whole:
            return max(found, key=lambda sentence: len(sentence.text), default=None)
        best = max(whole, key=lambda quotable: quotable.weight)
        return giving_the_value(best, whole, self.pool.question).sentence

    def _weights(self, found: Sequence[Sentence], candidate: PoolCandidate) -> Sequence[float]:
        if len(candidate.sentence_matches) == len(found):
            return candidate.sentence_matches
        matcher = self._matcher(candidate)
        return [len(matcher.matched(sentence.text)) for sentence in found]

    def _matcher(self, candidate: PoolCandidate) -> TermMatcher:
        return term_matcher(self.pool.question.terms(), self._language_of(candidate))

    def _quote(self, sentence: Sentence, candidate: PoolCandidate) -> str:
        """At most :data:`MOST_QUOTED` words in a row of a sentence: those with most of the question in them, and the
        value that it asks for. Of a table, the row with most of the question in it."""
        lines = candidate.anchor_text.split("\n")[sentence.first : sentence.last + 1]
        row = best_row(lines, self._matcher(candidate))
        said = row or without_heading(without_mark(sentence.text), candidate.section_title)
        text = single_quoted(said)
        parts = text.split()
        if len(parts) <= MOST_QUOTED:
            return text.rstrip(" .;:,")
        hits = self._hits(parts, candidate)
        start = max(range(len(parts) - MOST_QUOTED + 1), key=lambda first: _worth(hits, first))
        quote = " ".join(parts[start : start + MOST_QUOTED]).rstrip(" .;:,")
        is_cut = start + MOST_QUOTED < len(parts)
        return f"{'… ' if start else ''}{quote}{' …' if is_cut else ''}"

    def _hits(self, parts: Sequence[str], candidate: PoolCandidate) -> list[Mapping[str, int]]:
        """What each word of a sentence says about the question, by stem: a value asked for counts more than a word of
        the question, and that more than a form of it."""
        language = self._language_of(candidate)
        exact = {fold(word) for term in self.pool.question.terms() for word in words(term)}
        asked = {stem(word, language) for word in exact}
        met = {match.met.casefold() for match in candidate.matched_words}
        values = {
            word
            for value in values_in(" ".join(parts))
            if value.kind in self._kinds
            for word in value.text.split()
        }
        return [
            {
                stem(word, language): 3 if fold(word) in exact else 2
                for word in words(part)
                if stem(word, language) in asked or word.casefold() in met
            }
            | ({part: 4} if part in values or part.strip(".,;:()") in values else {})
            for part in parts
        ]

    def _place(self, candidate: PoolCandidate) -> str:
        """The place that the question names; without quotation marks, as it need not stand in the passage."""
        place = candidate.section_title or candidate.breadcrumb
        if not place:
            return ""
        kind = "heading" if candidate.signals.pattern_kind == "none" else "named"
        return self._parts[kind].format(place=_bare(place))

    def _terms(self, candidate: PoolCandidate, role: Role, *, meets: bool) -> str:
        """The words of the question that the passage has, each once whatever its form or language, and those that it
        lacks by word and by meaning."""
        held = candidate.signals.met_terms if meets else candidate.matched_keywords
        named = self._once(held) or self._same_words(candidate)
        if not named:
            return self._other_words(candidate, role)
        asked = self.pool.question.text
        named = as_written(named, candidate.anchor_text, self._language_of(candidate), asked=asked)
        is_together = meets and len(named) > 1
        sentence = self._parts["together" if is_together else "mentions"].format(
            terms=self._listed(named, "and")
        )
        missing = self._missing(candidate, held)
        return sentence + (
            self._parts["but_not"].format(missing=self._listed(missing, "or")) if missing else "."
        )

    def _once(self, terms: Sequence[str]) -> list[str]:
        """The single words among some terms, or else the pairs, without those that repeat one."""
        single = [term for term in terms if " " not in term]
        chosen = single or [term for term in terms if len(term.split()) == 2]
        return [term.text for term in new_terms(map(self._term, chosen))][:_MOST_TERMS]

    def _term(self, text: str) -> Term:
        """A keyword with the language that it is in: the glossary's are in the other one."""
        gloss = self.pool.question.gloss
        is_foreign = gloss is not None and text in gloss.terms
        return Term(text, gloss.language if gloss and is_foreign else self._language)

    def _same_words(self, candidate: PoolCandidate) -> list[str]:
        """Words of the passage that are words of the question though no keyword is, such as a verb that asks."""
        language = self._language_of(candidate)
        same = [
            match.met
            for match in candidate.matched_words
            if self._is_same(match, candidate) and not is_stop_word(match.met, language)
        ]
        return [term.text for term in new_terms(Term(text, language) for text in same)][:_MOST_TERMS]

    def _is_same(self, match: WordMatch, candidate: PoolCandidate) -> bool:
        return share_a_word(
            Term(match.asked, self._language), Term(match.met, self._language_of(candidate))
        ) or fold(match.asked) == fold(match.met)

    def _listed(self, terms: Sequence[str], last: str) -> str:
        """“a”, “b” and “c”. One or two words each: no quotation that would have to stand in the passage."""
        told = [quoted(term, self._language) for term in terms]
        return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} {self._parts[last]} {told[-1]}"

    def _other_words(self, candidate: PoolCandidate, role: Role) -> str:
        """Of a passage without a word of the question: the pair of words that late interaction found nearest."""
        if role is Role.DISCARDED:
            return self._parts["nothing"]
        near = [match for match in candidate.matched_words if match.cosine >= _NEAR_WORDS]
        if not near:
            return self._parts["meaning"]
        best = max(near, key=lambda match: match.weight * match.cosine)
        return self._parts["other_words"].format(
            met=quoted(best.met, self._language), asked=quoted(best.asked, self._language)
        )

    def _missing(self, candidate: PoolCandidate, held: Sequence[str]) -> list[str]:
        """Words of the question that the passage lacks; none where it is in another language."""
        language = self._language_of(candidate)
        if language != self._language:
            return []
        has = [self._term(term) for term in (*held, *candidate.matched_keywords)]
        has += [Term(match.asked, language) for match in candidate.matched_words]
        standing = {stem(word, language) for word in words(candidate.anchor_text)}
        asked = (Term(word, language) for word in self._asked if stem(word, language) not in standing)
        missing = [term.text for term in new_terms(asked, has)][:_MOST_MISSING]
        return as_written(missing, self.pool.question.text, self._language)

    def _value(self, candidate: PoolCandidate) -> str:
        """Whether the passage gives a value of the kind that is asked for; empty where none is."""
        kinds = " ".join(sorted(self._kinds))
        if kinds not in phrases("values", self._language):
            return ""
        gives = gives_value(candidate.anchor_text, self._kinds)
        value = phrases("values" if gives else "missing_values", self._language)[kinds]
        return self._parts["gives" if gives else "gives_none"].format(value=value)

    def _language_of(self, candidate: PoolCandidate) -> str:
        document = self.pool.document(candidate.document_id)
        return supported_language(document.language if document else self.pool.question.language)


def _worth(hits: Sequence[Mapping[str, int]], start: int) -> tuple[int, bool, int, float, int]:
    """How well the words from ``start`` on show what a sentence says: those with the most of the question in them, each
    word of it once, then the sentence's beginning, then those that have it closest together and in their middle."""
    window = hits[start : start + MOST_QUOTED]
    found = [place for place, hit in enumerate(window) if hit]
    first, last = (found[0], found[-1]) if found else (0, 0)
    off_centre = abs((first + last) / 2 - (MOST_QUOTED - 1) / 2)
    worth: dict[str, int] = {}
    for hit in window:
        worth |= {name: max(weight, worth.get(name, 0)) for name, weight in hit.items()}
    return sum(worth.values()), start == 0, first - last, -off_centre, -start


def _is_bare_heading(candidate: PoolCandidate) -> bool:
    """Whether a passage is a heading and no more; a clause whose only name is its whole sentence is none."""
    return candidate.signals.heading_only and not says_something(" ".join(candidate.anchor_text.split()))


def _bare(title: str) -> str:
    return " ".join(title.translate(str.maketrans("", "", '“”«»"')).split()).rstrip(".")
