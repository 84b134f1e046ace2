"""Answers that are values: who asks how long, how much or by when is answered by a duration, a sum or a date.

Which kinds a question expects is read from its wording, in English and Spanish; a passage is looked at for such a value
in a sentence that has words of the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

from arbitration.questions.model import ParsedQuestion
from arbitration.text import content_stems, normalise, stem, words

ValueKind = Literal["money", "percent", "duration", "date", "number"]

#: Characters of a text that are read.
MOST_CHARACTERS = 4000

_UNITS = (
    r"(?:seconds?|minutes?|hours?|(?:business |working |calendar )?days?|weeks?|fortnights?|months?|quarters?|years?"
    r"|segundos?|minutos?|horas?|días?|semanas?|mes(?:es)?|trimestres?|años?)"
)
_WORDS = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|eighteen"
    r"|twenty"
    r"|thirty|forty|forty-five|fifty|sixty|ninety|hundred|thousand|un[oa]?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve"
    r"|diez|doce|quince|veinte|treinta|cuarenta|cincuenta|sesenta|noventa|cien)"
)
_FIGURE = r"\d{1,3}(?:[.,  ]\d{3}){1,4}(?:[.,]\d{1,2})?|\d{1,9}(?:[.,]\d{1,4})?"
_MONTHS = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)"
)
_PATTERNS: tuple[tuple[ValueKind, str], ...] = (
    (
        "money",
        rf"(?:[$€£¥]|\b(?:usd|eur|gbp|chf|us\$)) ?(?:{_FIGURE})|\b(?:{_FIGURE}) ?(?:[$€£¥]|(?:million |thousand "
        rf"|millones de )?"
        r"(?:dollars?|euros?|pounds?|francs?|cents?|usd|eur|gbp|chf|dólares|libras|francos|pesos)\b)",
    ),
    (
        "percent",
        rf"\b(?:{_FIGURE}) ?(?:%|per ?cent\b|por ciento\b|percentage points?|basis points?)|\b{_WORDS} per ?cent\b",
    ),
    (
        "duration",
        rf"\b(?:{_FIGURE}|{_WORDS})(?: \(\d{{1,4}}\))?[ -](?:full |consecutive |further )?{_UNITS}\b"
        r"|\b(?:daily|weekly|fortnightly|monthly|quarterly|half-yearly|annually|yearly|immediately|forthwith"
        r"|without delay"
        r"|every (?:day|week|month|quarter|year)|(?:once|twice) (?:a|every|per) (?:day|week|month|year)"
        r"|diariamente|semanalmente|mensualmente|trimestralmente|anualmente|inmediatamente)\b",
    ),
    (
        "date",
        rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of| de)? {_MONTHS}\b(?:,?(?: de)? (?:19|20)\d\d\b)?"
        rf"|\b{_MONTHS} \d{{1,2}}\b(?:, (?:19|20)\d\d\b)?|\b(?:19|20)\d\d-\d\d-\d\d\b"
        r"|\b\d{1,2}[./]\d{1,2}[./](?:19|20)\d\d\b|\b\d{1,2}(?:[:.]\d\d)? ?[ap]\.?m\b"
        r"|\b(?:end|beginning|first day|last day) of (?:the|each|every) (?:day|week|month|quarter|year)\b",
    ),
    ("number", rf"(?<![\w.,-])(?:{_FIGURE})(?![\w%]|[.,]\d)|\b{_WORDS}\b"),
)
_VALUES = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _PATTERNS)

_ASKED: tuple[tuple[frozenset[ValueKind], str], ...] = (
    (
        frozenset({"duration", "date"}),
        r"\bhow (?:long|soon|often|frequently|quickly|fast|late|overdue)\b"
        r"|\bhow (?:far|long) (?:in advance|ahead|before)\b"
        r"|\bhow much (?:advance |prior )?(?:warning|notice|time)\b"
        r"|\b(?:what|which) (?:is the )?(?:\w+ ){0,2}(?:period"
        r"|term|interval|time limit|deadline"
        r"|frequency|duration|notice)\b|\bwithin (?:what|which|how)\b|\b(?:by|until|since|from) when\b"
        r"|\bhow many (?:\w+ )?"
        r"(?:seconds|minutes|hours|days|weeks|months|quarters|years)\b|^when\b|\bwhat (?:date|day|time)\b"
        r"|\bat what (?:age|time|interval)"
        r"|\bcuánto tiempo\b|\bqué (?:plazo|periodo|período|duración|fecha|día|intervalo|antelación)\b|\bcuándo\b"
        r"|\bcada cuánto\b"
        r"|\bcuánta (?:antelación|anticipación)\b|\bcuánt[oa]s (?:días|semanas|meses|años|horas)\b",
    ),
    (
        frozenset({"percent"}),
        r"\bwhat (?:percentage|share|proportion|rate|interest)\b|\bwhat (?:\w+ ){0,3}(?:percentage|interest rate"
        r"|margin|rate)\b"
        r"|\bqué (?:porcentaje|proporción|tipo de interés|interés)\b",
    ),
    (
        frozenset({"money", "percent"}),
        r"\bhow much\b|\b(?:what|which) (?:is the |are the |was the )?(?:\w+ ){0,3}(?:amount|price|fee|fees|rent"
        r"|fine|penalty|cost|costs|salary|charge|ceiling|net worth"
        r"|deposit|deductible|budget|sum|royalty|cap|compensation)\b(?! (?:list|concept|model|table|code|schedule)s?\b)"
        r"|\bup to what (?:amount|sum|value)\b"
        r"|\bcuánto (?:cuesta|paga|cobra|es|vale|debe)\b|\bqué (?:importe|precio|cantidad|suma|coste)\b"
        r"|\bcuál es (?:el|la) (?:\w+ ){0,2}(?:importe|precio|renta|multa|tarifa|coste|sueldo|salario|fianza)\b",
    ),
    (
        frozenset({"number"}),
        r"\bhow many\b|\bhow (?:tall|high|wide|deep|heavy|old|large|big)\b"
        r"|\b(?:what|which) (?:\w+ ){0,3}(?:number|minimum|maximum)\b|\bcuánt[oa]s\b|\bqué número\b",
    ),
)
_QUESTIONS = tuple((kinds, re.compile(pattern, re.IGNORECASE)) for kinds, pattern in _ASKED)
_COUNTED = re.compile(r"\b(?:how many|cuánt[oa]s) (?P<noun>[^\W\d_]{3,})", re.IGNORECASE)
#: Characters behind a number in which stands what it counts.
_NEAR = 40
_SENTENCE = re.compile(r"(?<=[.?!;]) (?=\S)")


class Value(NamedTuple):
    """A value of a text, as written, with the offset at which it stands."""

    kind: ValueKind
    text: str
    start: int


def values_in(text: str) -> list[Value]:
    """The values of a text in reading order; what is a sum, a share, a time or a date is no bare number besides."""
    plain = text[:MOST_CHARACTERS]
    found: list[Value] = []
    taken: list[tuple[int, int]] = []
    for kind, pattern in _VALUES:
        for match in pattern.finditer(plain):
            start, end = match.span()
            if not any(first < end and start < last for first, last in taken):
                found.append(Value(kind, match[0], start))
                taken.append((start, end))
    return sorted(found, key=lambda value: value.start)


def expected_kinds(question: str) -> frozenset[ValueKind]:
    """The kinds of value that a question asks for; empty where it asks for none."""
    return next(
        (kinds for kinds, pattern in _QUESTIONS if pattern.search(question[:MOST_CHARACTERS])), frozenset()
    )


def gives_value(text: str, kinds: frozenset[ValueKind]) -> bool:
    """Whether a text, as it is written, holds a value of one of these kinds."""
    return any(value.kind in kinds for value in values_in(normalise(text)))


def counted(question: str) -> str:
    """What a question wants counted: "songs" of "how many songs"; empty where it counts nothing, or asks for a time."""
    found = _COUNTED.search(question[:MOST_CHARACTERS])
    return found["noun"] if found and expected_kinds(question) == {"number"} else ""


def counts(text: str, noun: str, language: str) -> bool:
    """Whether a text gives a number of something: "five (5) songs"."""
    wanted = stem(noun, language)
    plain = normalise(text)
    return any(
        wanted in [stem(word, language) for word in words(plain[value.start + len(value.text) :][:_NEAR])[:3]]
        for value in values_in(plain)
        if value.kind == "number"
    )


def asking_words(question: str) -> tuple[str, ...]:
    """The words by which a question asks for a value ("how long"): an answer need not repeat them."""
    plain = question[:MOST_CHARACTERS]
    found = next((match for _, pattern in _QUESTIONS if (match := pattern.search(plain))), None)
    return tuple(words(found[0])) if found else ()


@dataclass(frozen=True, slots=True)
class ExpectedValues:
    """What a question expects, and the stems of its words by language."""

    kinds: frozenset[ValueKind]
    wordings: tuple[str, ...]

    @classmethod
    def of(cls, question: ParsedQuestion) -> Self:
        """Of a parsed question."""
        return cls(expected_kinds(question.normalised), tuple(text for text, _ in question.wordings))

    def signal(self, lines: Sequence[str], language: str) -> float | None:
        """Share of the question's words in the sentence of a passage that holds a value of a kind asked for, 0 to 1;
        ``None`` where none is asked for."""
        if not self.kinds:
            return None
        asked = frozenset(stem for text in self.wordings for stem in content_stems(text, language))
        best = 0.0
        for sentence in _sentences(lines):
            if any(value.kind in self.kinds for value in values_in(sentence)):
                best = max(
                    best, len(asked.intersection(content_stems(sentence, language))) / max(1, len(asked))
                )
        return best


def _sentences(lines: Sequence[str]) -> Iterator[str]:
    yield from _SENTENCE.split(normalise("\n".join(lines)[:MOST_CHARACTERS]))
