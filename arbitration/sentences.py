"""The sentences of a text of several lines, and where each stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_SENTENCE_END = re.compile(r"(?<=[.?!])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z0-9ÁÉÍÓÚÑ¿¡•o])")

#: "9.1", "Article 7", "(b)" at the beginning of a clause.
_CLAUSE = re.compile(  # a number may stick to its name: "13.5Further"
    r"(?:(?:section|article|clause|art[íi]culo|cláusula|§) ?)?(?:\d{1,3}(?:\.\d{1,3}){0,5}|\([a-z0-9]{1,3}\))[.)]? "
    r"|\d{1,3}(?:\.\d{1,3}){0,5}\.(?=(?-i:[A-ZÁÉÍÓÚÑ]))|\d{1,3}(?:\.\d{1,3}){1,5}(?=(?-i:[A-ZÁÉÍÓÚÑ]))",
    re.IGNORECASE,
)
_HEADING_WORDS = 7
#: "10. FEE: " and "8. LIABILITY ": a clause's number and its name in capitals, run in before its sentence.
_RUN_IN = re.compile(r"(?:[A-Z][A-Z&/,' -]{2,60}[:.] ?|[A-Z]{7}[A-Z&/,' -]{0,60} )(?=[A-Z][a-z]|[AI] )")
#: A bullet before a sentence; a page's number between hyphens, which breaks into one where pages were joined.
_MARK = re.compile(r"^[•◦▪‣·\uf0b7\uf0a7]\s*(?=[A-ZÁÉÍÓÚÑ¿0-9\"“(\[])")
_PAGE_BEFORE = re.compile(r"^-\s?\d{1,3}\s?-\s+(?=\S)")
_PAGE_BEHIND = re.compile(r"(?<=\S)\s+-\s?\d{1,3}\s?-(?:\s+\d{1,3}\.?){0,2}$")
#: What ends with a point and no sentence: before a number ("No. 1", "Art. 5"), and before anything ("Dr. Ruiz").
_BEFORE_NUMBER = frozenset((
    "no.", "nos.", "núm.", "art.", "arts.", "sec.", "cl.", "cap.", "par.", "para.", "rev.", "ver.", "vol.",
    "p.", "pp.", "pág.", "fig.",
))  # fmt: skip
_BEFORE_ANY = frozenset((
    "mr.", "mrs.", "ms.", "dr.", "dra.", "sr.", "sra.", "prof.", "e.g.", "i.e.", "cf.", "vs.", "approx.",
    "p.ej.",
))  # fmt: skip
#: "U.S.", before anything but a word that sentences begin with.
_INITIALS = re.compile(r"(?:[A-Z]\.){2,4}")
_OPENERS = frozenset((
    "the", "a", "an", "this", "these", "that", "those", "if", "in", "on", "at", "it", "its", "we", "you", "they",
    "he", "she", "any", "all", "each", "no", "where", "when", "as", "for", "such", "however",
    "el", "la", "los", "las", "un", "una", "si", "en", "este", "esta", "no", "todo", "cada", "cuando",
))  # fmt: skip
#: Words that a heading in title case leaves small.
_SMALL = frozenset((
    "a", "an", "the", "of", "and", "or", "to", "in", "on", "for", "by", "with", "from", "as", "at", "your", "our",
))  # fmt: skip
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|shall|must|may|will|can|cannot|has|have|had|does|do|should"
    r"|es|son|será|serán|debe|deben|podrá|podrán|puede|pueden|tiene|tienen|está|están)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence on one line, and the indexes of the first and last line of the text that it stands on, 0-based."""

    text: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class SentenceMap:
    """Where the sentences of a text begin (``begins``) and its lines (``lines``), in characters of the text on one
    line: the lines without the white space at their ends, joined by single spaces."""

    flat: str
    begins: tuple[int, ...]
    lines: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> SentenceMap:
        """The sentences of a text; none of a blank one."""
        lines = [line.strip() for line in text.split("\n")]
        flat, starts, position = " ".join(lines), [], 0
        for line in lines:
            starts.append(position)
            position += len(line) + 1
        cuts = [0, *(match.end() for match in _SENTENCE_END.finditer(flat)), len(flat)]
        begins = [begin for begin, end in pairwise(cuts) if flat[begin:end].strip()]
        return cls(flat, tuple(begins), tuple(starts))

    def sentences(self) -> list[Sentence]:
        """The sentences in order."""
        ends = (*self.begins[1:], len(self.flat))
        return [
            Sentence(
                text=self.flat[begin:end].strip(),
                first=_index(self.lines, begin),
                last=_index(self.lines, max(begin, end - 2)),
            )
            for begin, end in zip(self.begins, ends, strict=False)
        ]


def without_heading(sentence: str, title: str | None) -> str:
    """A sentence without its section's title before it, with or without its number, where a heading runs on into the
    text."""
    for part in _titles(title):
        if sentence.casefold().startswith(part.casefold()):
            rest = sentence[len(part) :]
            introduces = rest.startswith(":") and len(part.split()) > _HEADING_WORDS
            return sentence if introduces else rest.lstrip(" .:-–—") or sentence
    found = _CLAUSE.match(sentence)
    run_in = _RUN_IN.match(sentence, found.end()) if found else None
    return sentence[run_in.end() :] if run_in else sentence


def _titles(title: str | None) -> tuple[str, ...]:
    """A section's title with and without its number; none where the "title" is a whole sentence, as of a clause that
    has no other name."""
    heading = " ".join(title.split()) if title else ""
    if says_something(heading):
        return ()
    return tuple(part for part in (heading, _CLAUSE.sub("", heading, count=1)) if part)


def says_something(title: str) -> bool:
    """Whether a title has the length and the end of a sentence, so that it is more than a heading."""
    return len(title.split()) > _HEADING_WORDS and title.endswith((".", ":", ";"))


def is_heading(sentence: str) -> bool:
    """Whether a sentence is a clause's number and name, such as "9.1 Right to audit.": few words, none of them a verb
    that a short rule would have."""
    found = _CLAUSE.match(sentence)
    if found is None:
        return False
    name = sentence[found.end() :]
    return len(name.split()) <= _HEADING_WORDS and _VERB.search(name) is None


def is_titled(sentence: str) -> bool:
    """Whether a few words are all in title case, as a heading has them that runs on into its paragraph: "Copyright
    Owner Revises or Retracts the Notice.", which a verb alone does not make a sentence."""
    found = re.findall(r"[^\W\d_][\w’'-]*", sentence)
    named = [word for word in found if word.casefold() not in _SMALL]
    return 3 <= len(named) <= _HEADING_WORDS and all(word[:1].isupper() for word in named)


def runs_on(sentence: str, following: str) -> bool:
    """Whether a text ends with a short form, so that it is no sentence without what follows: "Amendment No." and "1 to
    the Agreement"."""
    end = sentence.rsplit(" ", 1)[-1].lstrip('(“"«')
    last = end.casefold()
    if _INITIALS.fullmatch(end) and following.split(" ", 1)[0].casefold() not in _OPENERS:
        return True
    return last in _BEFORE_ANY or (last in _BEFORE_NUMBER and following[:1].isdigit())


def joined_sentences(found: Sequence[Sentence], weights: Sequence[float]) -> list[tuple[Sentence, float]]:
    """The sentences with their weights, those made one that only a short form such as "No." parts."""
    joined: list[tuple[Sentence, float]] = []
    for sentence, weight in zip(found, weights, strict=True):
        if joined and runs_on(joined[-1][0].text, sentence.text):
            before, its_weight = joined.pop()
            sentence = Sentence(f"{before.text} {sentence.text}", before.first, sentence.last)
            weight = max(weight, its_weight)
        joined.append((sentence, weight))
    return joined


def without_mark(sentence: str) -> str:
    """A sentence without the bullet of its item, or the number of a page before or behind it ("-4- the Payment")."""
    return _PAGE_BEHIND.sub("", _MARK.sub("", _PAGE_BEFORE.sub("", sentence)))


def without_next_heading(sentence: str) -> str:
    """A sentence without the heading of the clause that it introduces ("replaced by the following: 5.3 Payment.")."""
    head, colon, tail = sentence.rpartition(": ")
    return f"{head}:" if colon and is_heading(tail) else sentence


def is_whole(sentence: str, *, title: str | None = None, follows: str = "") -> bool:
    """Whether a text says something by itself: no heading, no introduction to something else, and nothing cut off at
    its beginning or, as the text that ``follows`` it shows, at its end."""
    plain = sentence.strip()
    names = {part.casefold().strip(" .:") for part in _titles(title)}
    if plain.endswith((":", ",", "-")) or is_heading(plain) or plain.casefold().strip(" .:") in names:
        return False
    if is_titled(plain):
        return False
    is_item = _CLAUSE.match(plain) is not None or plain[1:2] in (
        ")",
        ".",
        " ",
    )  # "(a) ...", "b) ...", "o ..."
    if plain[:1].islower() and not is_item:
        return False
    return plain.endswith(tuple(".?!;\"'”’»)]")) or not follows[:1].islower()


def sentences_of(text: str) -> list[Sentence]:
    """The sentences of a text of several lines, in order."""
    return SentenceMap.of(text).sentences()


def _index(starts: Sequence[int], offset: int) -> int:
    return bisect_right(starts, offset) - 1
