"""Aliases proposed from confirmed evidence that no keyword found ("dictionary learning", engines.md section 2).

The rule is deterministic and asks no model: the question's noun phrase that the document knows least is paired
with the most telling phrase of the evidence. A proposal is only that: a person approves it or not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from arbitration.questions.chunker import chunk
from arbitration.questions.parser import parse_question
from arbitration.text import content_stems, is_code, join_letter_spaced, normalise, supported_language

#: For each phrase, the number of passages of the document that hold it.
Frequency = Callable[[Sequence[str]], Mapping[str, int]]

_LETTERS = re.compile(r"[^\W\d_]{2,}")
_PHRASES_WEIGHED = 40


@dataclass(frozen=True, slots=True)
class AliasProposal:
    """``term`` stands in the question, ``variant`` in the document; ``language`` is the variant's."""

    term: str
    variant: str
    language: str
    is_translation: bool


def propose_alias(
    *, question: str, evidence: str, section_title: str, language: str, frequency: Frequency
) -> AliasProposal | None:
    """What the document seems to call the thing that the question asks about.

    ``evidence`` is the text of the confirmed anchor, ``language`` the document's. The variant is the first noun
    phrase of the section's title that says more than the question does, else the rarest such phrase of the
    evidence. None where either side has no such phrase.
    """
    parsed = parse_question(question)
    terms = _asked_phrases([k.term for k in parsed.keywords if k.group == "primary"])
    known = set(content_stems(question, parsed.language))
    variant = _from_title(section_title, language, known) or _rarest(evidence, language, known, frequency)
    if not terms or variant is None:
        return None
    hits = frequency(terms)
    return AliasProposal(
        term=min(terms, key=lambda term: (hits.get(term, 0), " " not in term)),
        variant=variant,
        language=supported_language(language),
        is_translation=parsed.language != supported_language(language),
    )


def _asked_phrases(keywords: Sequence[str]) -> list[str]:
    """The noun phrases of a question without the single words they are made of, and without bare numbers."""
    phrases = [keyword for keyword in keywords if " " in keyword]
    inside = {word for phrase in phrases for word in phrase.lower().split()}
    return [k for k in keywords if k.lower() not in inside and _LETTERS.search(k)]


def _from_title(title: str, language: str, known: set[str]) -> str | None:
    return next(iter(_telling(join_letter_spaced(title), language, known)), None)


def _rarest(text: str, language: str, known: set[str], frequency: Frequency) -> str | None:
    """Phrases of several words before single ones, which may be verbs; the rarest first, then the longest, then the
    one that stands first."""
    phrases = list(dict.fromkeys(_telling(text, language, known)))[:_PHRASES_WEIGHED]
    if not phrases:
        return None
    hits = frequency(phrases)
    return min(phrases, key=lambda phrase: (" " not in phrase, hits.get(phrase, 0), -len(phrase)))


def _telling(text: str, language: str, known: set[str]) -> Iterable[str]:
    """Noun phrases that hold a word which the question does not."""
    shouting = text.isupper()
    for part in chunk(normalise(text), language):
        words = [word for word in part.words if _LETTERS.search(word)]
        phrase = " ".join(words)
        if part.kind != "noun_phrase" or not words or not set(content_stems(phrase, language)) - known:
            continue
        yield phrase if not shouting and any(is_code(word) for word in words) else phrase.lower()
