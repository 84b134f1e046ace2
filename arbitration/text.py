"""The words of the engine: normalising, tokens, stems, exact codes and matching of terms.

Everything here is pure. Matching is by whole words, stemmed by the language of the text, blind to case,
accents and hyphens; codes match as whole strings. Offsets always refer to the text that was given.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, islice, pairwise
from typing import Any

import snowballstemmer

from arbitration.stopwords import STOP_WORDS


def _stemmer(name: str) -> Any:
    """A Snowball stemmer that remembers nothing. The one in C keeps ten thousand words and sorts them to forget some:
    a word costs it three times what stemming it does, and words that come again are kept by :func:`stem`."""
    stemmer = snowballstemmer.stemmer(name)
    stemmer.maxCacheSize = 0
    return stemmer


_STEMMERS = {"en": _stemmer("english"), "es": _stemmer("spanish")}
_STEMMER_LOCK = threading.Lock()
_ZERO_WIDTH = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\ufffe]")
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_LETTER_SPACED = re.compile(r"(?<!\S)[A-ZÀ-Þ](?: [A-ZÀ-Þ]){2,}(?!\w)")
_MAYBE_SPACED = re.compile(r"[A-ZÀ-Þ] [A-ZÀ-Þ] [A-ZÀ-Þ]")
#: A word as people write it, with apostrophes and hyphens inside.
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_REST_OF_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_PHRASE_GAP = re.compile(r"(?:['’]s)?[\s\-/]{1,3}\Z")
_JOINABLE_LENGTH = 10  # only long words may be written apart ("cyber security"); short ones would collide
_BETWEEN_TEXTS = "\n\n\n\n"  # no word, phrase or code reaches across it, see _PHRASE_GAP

_SINGLE_MARKS = str.maketrans({"“": "‘", "”": "’", "«": "‘", "»": "’"})
_OPENS_QUOTE = re.compile(r'(?:(?<=[\s(\[/])|^)"')

_PUNCTUATION = dict.fromkeys(map(ord, "‐‑‒–—―−"), "-")
_PUNCTUATION |= dict.fromkeys(map(ord, "‘’‚‛′"), "'")
_PUNCTUATION |= dict.fromkeys(map(ord, "“”„‟«»″"), '"')
_PUNCTUATION |= {0x00A0: " ", 0x2007: " ", 0x202F: " "}


def _folding_table() -> dict[int, str]:
    """One character for one character, so that offsets in folded text are offsets in the original."""
    table: dict[int, str] = {}
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        base = unicodedata.normalize("NFD", chr(code))[0].lower()
        if len(base) == 1 and base.isascii():
            table[code] = base
    return table | _PUNCTUATION


_FOLDING = _folding_table()


def normalise(text: str) -> str:
    """Compatibility forms, zero-width characters, quotes, dashes and white space in one canonical form."""
    plain = _ZERO_WIDTH.sub("", unicodedata.normalize("NFKC", text)).translate(_PUNCTUATION)
    return _SPACE.sub(" ", plain).strip()


def fold(text: str) -> str:
    """Lower case without accents, same length as the input."""
    if text.isascii():
        return text.lower()
    folded = text.translate(_FOLDING).lower()
    return folded if len(folded) == len(text) else "".join(_fold_one(char) for char in text)


def _fold_one(char: str) -> str:
    lowered = char.translate(_FOLDING).lower()
    return lowered if len(lowered) == 1 else char


def join_letter_spaced(text: str) -> str:
    """``S C O P E`` becomes ``SCOPE``: for matching of headings only, never for display."""
    if not _MAYBE_SPACED.search(text):
        return text
    return _LETTER_SPACED.sub(lambda match: match[0].replace(" ", ""), text)


def shortened(text: str, *, words: int) -> str:
    """The first words of a text on one line, with a mark where more follow."""
    parts = text.split()
    return " ".join(parts[:words]) + (" …" if len(parts) > words else "")


def quoted(text: str, language: str) -> str:
    """A text in the quotation marks of a language."""
    return f"«{text}»" if language == "es" else f"“{text}”"


def single_quoted(text: str) -> str:
    """A text as it stands inside a quotation: its own quotation marks are single."""
    return _OPENS_QUOTE.sub("‘", text.translate(_SINGLE_MARKS)).replace('"', "’")


def word_count(text: str) -> int:
    """Number of words as a reader counts them: runs between white space."""
    return len(text.split())


def supported_language(language: str) -> str:
    """``es`` for Spanish and its variants, else ``en``."""
    return "es" if language.lower().startswith("es") else "en"


@lru_cache(maxsize=200_000)
def stem(word: str, language: str = "en") -> str:
    """The Snowball stem of one word, lower case and without accents."""
    stemmer = _STEMMERS[supported_language(language)]
    with _STEMMER_LOCK:  # a Snowball stemmer keeps the word it works on in itself
        stemmed = str(stemmer.stemWord(word.lower().replace("’", "'")))
    return fold(stemmed)


def stem_each(several: Sequence[str], language: str = "en") -> list[str]:
    """:func:`stem` of many words that are not worth remembering; none holds a line break."""
    stemmer = _STEMMERS[supported_language(language)]
    lowered = "\n".join(several).lower().replace("’", "'").split("\n") if several else []
    with _STEMMER_LOCK:
        stemmed: list[str] = stemmer.stemWords(lowered)
    return stemmed if "".join(stemmed).isascii() else [fold(word) for word in stemmed]


def words(text: str) -> list[str]:
    """The words of a text in order, as written."""
    return _WORD.findall(text)


def stems(text: str, language: str = "en") -> list[str]:
    """The stems of all words of a text, in order; stop words included."""
    return [stem(word, language) for word in words(join_letter_spaced(text))]


def is_stop_word(word: str, language: str = "en") -> bool:
    """Whether a word is a function word of the language."""
    return word.lower().replace("’", "'") in STOP_WORDS[supported_language(language)]


def content_stems(text: str, language: str = "en") -> list[str]:
    """Stems of the words that are not function words, in order."""
    return [
        stem(word, language) for word in words(join_letter_spaced(text)) if not is_stop_word(word, language)
    ]


def detect_language(text: str, default: str = "en") -> str:
    """``en`` or ``es`` by function words and letters; ``default`` when neither shows."""
    lowered = [word.lower() for word in words(text)]
    english = sum(word in STOP_WORDS["en"] for word in lowered)
    spanish = sum(word in STOP_WORDS["es"] for word in lowered) + 2 * sum(char in "¿¡ñ" for char in text)
    if english == spanish:
        return default
    return "es" if spanish > english else "en"


# --- exact codes ------------------------------------------------------------------------------------

_CODE = re.compile(
    r"""(?<![\w.])(?:
        (?<!§)§+\s?\d+(?:\.\d+)*(?:\s?\([A-Za-z0-9]{1,4}\))*            # § 4.2(b)
      | [A-Z]{1,6}(?:\.[A-Z]{1,4})*-\d+(?:\.\d+)*(?:\([a-z0-9]+\))*  # PR.AC-1, AC-2(1)
      | [A-Z]{2,6}(?:\.[A-Z]{2,4})+(?![a-z])                       # GV.OC
      | [A-Z]{2,}+(?:/[A-Z]*+)?[ -]?\d{3,}(?:-\d+)*               # ISO27001, ISO 27001
      | [A-Z]{1,5}\d[A-Z0-9]*+                                     # FY2018, A4
      | \d{1,3}(?:,\d{3}){1,8}(?:\.\d+)?                           # 32,502
      | \d{4,}                                                     # 2016
      | (?<![A-Z]&)[A-Z][A-Z&]{2,}s?(?![\w.])                      # GDPR
    )(?![A-Za-z0-9])""",
    re.VERBOSE,
)
_ACRONYM = re.compile(r"[A-Z][A-Z&]{2,}s?\Z")
_MOST_FAMILIES = 12  # that a code is counted to; no real one has as many
_CODE_PARTS = re.compile(r"[a-z]+|\d+|[^a-z\d\s]", re.IGNORECASE)


def exact_codes(text: str) -> tuple[str, ...]:
    """Codes that must match as whole strings, in order, each once: ``PR.AC-1``, ``ISO27001``, ``§ 4.2(b)``,
    acronyms of three or more capitals, numbers of four or more digits. A text all in capitals has no
    acronyms to tell apart."""
    plain = text.translate(_PUNCTUATION)
    shouting = not any(char.islower() for char in plain)
    found = (_singular(match[0].strip()) for match in _CODE.finditer(plain))
    kept = (code for code in found if not (shouting and _ACRONYM.match(code) and len(plain.split()) > 1))
    return tuple(dict.fromkeys(kept))


def _singular(code: str) -> str:
    return code[:-1] if code.endswith("s") and _ACRONYM.match(code) else code


def is_code(term: str) -> bool:
    """Whether the whole term is one exact code."""
    match = _CODE.fullmatch(term.translate(_PUNCTUATION).strip())
    return match is not None


def code_prefixes(code: str) -> tuple[str, ...]:
    """The families a code belongs to, widest first, itself last: ``GV``, ``GV.OC``, ``GV.OC-01``."""
    cuts = [match.start() for match in islice(re.finditer(r"[.\-(]", code), _MOST_FAMILIES)]
    return tuple(dict.fromkeys([*(code[:cut] for cut in cuts if cut), code]))


def index_terms(text: str, language: str = "en") -> list[str]:
    """What a lexical index must hold of a text so that :class:`TermMatcher` finds the same: stems of all
    words, and of codes the folded code with its prefixes."""
    joined = join_letter_spaced(text)
    codes = [fold(prefix) for code in exact_codes(joined) for prefix in code_prefixes(code)]
    return [*stems(joined, language), *codes]


# --- matching ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TermMatch:
    """One place where a term stands; ``start`` and ``end`` are offsets into the text searched."""

    term: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _WordHit:
    stem: str
    start: int
    end: int


class TermMatcher:
    """Finds many terms in many short texts: whole words, stemmed, phrases across hyphens and spaces.

    Stem prefixes, looked for as plain strings, pick the few words worth stemming, so that a text costs little more
    than one scan for each. Many texts at once (:meth:`matched_in_each`) cost far less than one by one.
    """

    def __init__(self, terms: Iterable[str], language: str = "en") -> None:
        self.terms: tuple[str, ...] = tuple(dict.fromkeys(term for term in terms if term.strip()))
        self.language = supported_language(language)
        self._codes = [(term, _code_pattern(term)) for term in self.terms if is_code(term)]
        self._phrases: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for term in self.terms:
            if not is_code(term):
                self._add_words(term)
        wanted = {part for variants in self._phrases.values() for _, parts in variants for part in parts}
        self._wanted = frozenset(wanted)
        self._stems: dict[str, str] = {}
        long_words = {part for part in wanted if len(part) >= _JOINABLE_LENGTH}
        self._heads = tuple({_prefix(part) for part in wanted})
        self._long_heads = tuple({_prefix(part) for part in long_words})

    def _add_words(self, term: str) -> None:
        sequence = tuple(stem(word, self.language) for word in words(term))
        variants = {sequence} if sequence else set()
        if len(sequence) > 1:
            variants.add((stem("".join(words(term)), self.language),))
        for variant in variants:
            self._phrases.setdefault(variant[0], []).append((term, variant))

    def find(self, text: str) -> list[TermMatch]:
        """Every match, ordered by position, then by length."""
        joined, offsets = _joined_with_offsets(text)
        plain = _plain(joined)
        matches = self._found(plain, fold(plain))
        if offsets is not None:
            matches = [TermMatch(m.term, offsets[m.start], offsets[m.end - 1] + 1) for m in matches]
        return sorted(matches, key=lambda match: (match.start, match.end, match.term))

    def matched(self, text: str) -> list[str]:
        """The distinct terms that stand in the text, in the order they were given."""
        plain = _plain(join_letter_spaced(text))
        present = {match.term for match in self._found(plain, fold(plain))}
        return [term for term in self.terms if term in present] if present else []

    def matched_in_each(self, texts: Sequence[str]) -> list[list[str]]:
        """:meth:`matched` of every text, found in one scan over all of them."""
        joined = _BETWEEN_TEXTS.join(texts)
        if joined.isascii() and not _MAYBE_SPACED.search(joined):
            plain, pieces, folded = joined, texts, joined.lower()
        else:
            # Folded one by one: most lines are plain ASCII, and folding others takes many times as long.
            pieces = [_plain(join_letter_spaced(text)) for text in texts]
            plain, folded = _BETWEEN_TEXTS.join(pieces), _BETWEEN_TEXTS.join([fold(text) for text in pieces])
        ends = list(accumulate([len(text) + len(_BETWEEN_TEXTS) for text in pieces]))
        present: list[set[str]] = [set() for _ in texts]
        for match in self._found(plain, folded):
            present[bisect_right(ends, match.start)].add(match.term)
        return [[term for term in self.terms if term in held] if held else [] for held in present]

    def _found(self, plain: str, folded: str) -> list[TermMatch]:
        found = [
            TermMatch(term, match.start(), match.end())
            for term, pattern in self._codes
            for match in pattern.finditer(plain)
        ]
        hits = self._hits(self._whole_words(folded), plain)
        for position in range(len(hits)):
            self._add_phrases(found, hits, position, plain)
        for hit in self._hits(self._words_apart(folded), plain):
            if " " in plain[hit.start : hit.end] or "-" in plain[hit.start : hit.end]:
                self._add_phrases(found, [hit], 0, plain)
        return found

    def _whole_words(self, folded: str) -> Iterator[tuple[int, int]]:
        """The words that begin with a head, from left to right."""
        places = {place for head in self._heads for place in _places(head, folded)}
        end = 0
        for place in sorted(places):
            if place >= end and (match := _REST_OF_WORD.match(folded, place)):
                end = match.end()
                yield place, end

    def _words_apart(self, folded: str) -> Iterator[tuple[int, int]]:
        """Long words, those written in pieces among them; none where no blank or hyphen stands inside one."""
        if not self._long_heads:
            return
        squeezed = folded.replace(" ", "").replace("-", "")
        if any(_may_stand_apart(head, folded, squeezed) for head in self._long_heads):
            yield from (match.span() for match in self._apart.finditer(folded))

    @cached_property
    def _apart(self) -> re.Pattern[str]:
        ordered = sorted(
            (r"[ \-]?".join(map(re.escape, head)) for head in self._long_heads), key=len, reverse=True
        )
        return re.compile(rf"(?<!\w)(?:{'|'.join(ordered)})[^\W_]*(?:'[^\W_]+)*")

    def _hits(self, spans: Iterable[tuple[int, int]], plain: str) -> list[_WordHit]:
        """Words of the text whose stem is wanted; a surface form is stemmed once."""
        hits = []
        for start, end in spans:
            surface = plain[start:end]
            if surface not in self._stems:
                self._stems[surface] = stem(surface.replace(" ", "").replace("-", ""), self.language)
            if self._stems[surface] in self._wanted:
                hits.append(_WordHit(self._stems[surface], start, end))
        return hits

    def _add_phrases(
        self, found: list[TermMatch], hits: Sequence[_WordHit], position: int, text: str
    ) -> None:
        first = hits[position]
        for term, sequence in self._phrases.get(first.stem, ()):
            if len(sequence) == 1:
                found.append(TermMatch(term, first.start, first.end))
                continue
            run = hits[position : position + len(sequence)]
            if tuple(hit.stem for hit in run) == sequence and _adjacent(run, text):
                found.append(TermMatch(term, first.start, run[-1].end))


def highlight_spans(text: str, terms: Iterable[str], language: str = "en") -> list[tuple[int, int]]:
    """Where to mark the terms in a text: merged, ordered (start, end) offsets."""
    spans: list[tuple[int, int]] = []
    for match in TermMatcher(terms, language).find(text):
        if spans and match.start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], match.end))
        else:
            spans.append((match.start, match.end))
    return spans


def _adjacent(run: Sequence[_WordHit], text: str) -> bool:
    gaps = (text[left.end : right.start] for left, right in pairwise(run))
    return all(_PHRASE_GAP.match(gap) for gap in gaps)


def _code_pattern(term: str) -> re.Pattern[str]:
    """Codes are blind to case and inner blanks, but an acronym that spells a function word (WHO) is not."""
    plain = term.translate(_PUNCTUATION).strip()
    if _ACRONYM.match(plain):
        flags = re.NOFLAG if is_stop_word(plain, "en") or is_stop_word(plain, "es") else re.IGNORECASE
        return re.compile(rf"(?<!\w){re.escape(plain)}s?(?!\w)", flags)
    body = r"[ \-]?".join(re.escape(part) for part in _CODE_PARTS.findall(plain))
    return re.compile(rf"(?<!\w){body}(?!\w)", re.IGNORECASE)


def _plain(text: str) -> str:
    """The text with its dashes, quotes and blanks in one form, same length."""
    return text if text.isascii() else text.translate(_PUNCTUATION)


def begins_a_word(head: str, folded: str) -> bool:
    """Whether any word of a folded text begins with the head."""
    return next(_places(head, folded), None) is not None


def _places(head: str, folded: str) -> Iterator[int]:
    """Where a word of the text begins with the head."""
    place = folded.find(head)
    while place >= 0:
        before = folded[place - 1] if place else " "
        if not (before.isalnum() or before == "_"):
            yield place
        place = folded.find(head, place + 1)


def _may_stand_apart(head: str, folded: str, squeezed: str) -> bool:
    """Whether the head stands in the text without its blanks more often than in the text itself."""
    if any(head.startswith(head[start:]) for start in range(1, len(head))):
        return head in squeezed  # may overlap itself: occurrences cannot be counted
    return squeezed.count(head) > folded.count(head)


@lru_cache(maxsize=512)
def term_matcher(terms: tuple[str, ...], language: str = "en") -> TermMatcher:
    """A matcher that is made once for the same terms."""
    return TermMatcher(terms, language)


def _prefix(word_stem: str) -> str:
    """A stem's safe beginning: its last letter may differ in the text (policy, polici)."""
    return word_stem[: max(2, len(word_stem) - 1)]


def _joined_with_offsets(text: str) -> tuple[str, list[int] | None]:
    """The letter-spaced joined text, with the original offset of each of its characters when it differs."""
    if not _LETTER_SPACED.search(text):
        return text, None
    kept: list[int] = []
    position = 0
    for match in _LETTER_SPACED.finditer(text):
        kept += range(position, match.start())
        kept += (index for index in range(match.start(), match.end()) if text[index] != " ")
        position = match.end()
    kept += range(position, len(text))
    return "".join(text[index] for index in kept), kept
