"""What an answer says where one text of the evidence replaces another: what each says, and which of them is in force.

The text in force comes first. Names and dates are those that the documents or their records give.
"""

from __future__ import annotations

from dataclasses import dataclass

from arbitration.expected_values import values_in
from arbitration.phrases import phrases
from arbitration.pool import CandidatePool, PoolCandidate, Precedence
from arbitration.precedence.texts import subject_stems
from arbitration.text import quoted, shortened, supported_language

#: Share of the lighter sentence's words from which two sentences are of one matter, and the fewest words in common.
_SAME, _FEWEST = 0.5, 3
_QUOTED_WORDS = 40
_VALUED = frozenset({"money", "percent", "duration"})


@dataclass(frozen=True, slots=True)
class SaidBy:
    """A sentence of the evidence and the passage it stands in; ``first`` is the index of its first line there."""

    text: str
    candidate: PoolCandidate
    first: int


def is_same_matter(one: str, other: str, language: str) -> bool:
    """Whether two sentences speak of one matter in other words or with other figures."""
    first, second = subject_stems(one, language), subject_stems(other, language)
    common = len(first & second)
    is_near = common >= _FEWEST and common / min(len(first), len(second)) >= _SAME
    return is_near and _plain(one) != _plain(other)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .;")


def headline(one: Precedence, pool: CandidatePool, language: str) -> str:
    """How the two texts stand to each other."""
    words = phrases("differences", language)
    if one.in_force_id is None:
        return words["ended"]
    if one.kind == "overridden":
        return words["overridden"]
    documents = [pool.candidate(identity) for identity in (one.in_force_id, one.replaced_id)]
    in_two = len({candidate.document_id for candidate in documents if candidate}) == 2
    return words["later" if in_two and one.kind in ("amended", "version") else "replaced"]


def difference_in_words(one: Precedence, new: SaidBy, old: SaidBy, language: str) -> str:
    """What the text in force says and what the other one says: the two figures where that is the difference, else the
    two sentences."""
    language = supported_language(language)
    words = phrases("differences", language)
    figures = _figures(new.text, old.text)
    since = words["since"].format(day=one.since) if one.since else ""
    form = ("said" if figures else "quoted") + ("" if since else "_undated")
    is_one_document = new.candidate.document_id == old.candidate.document_id
    said = figures or tuple(
        quoted(shortened(sentence.text, words=_QUOTED_WORDS), language) for sentence in (new, old)
    )
    text = words[form].format(
        over=_name(one.in_force_name, new, language, numbered=is_one_document) or words["this"],
        since=since,
        new=said[0],
        under=_name(one.replaced_name, old, language, numbered=True) or words["that"],
        old=said[1],
    )
    return text[:1].upper() + text[1:]


def _figures(new: str, old: str) -> tuple[str, str] | None:
    """The figures of two sentences that each give one, of one kind, and differ in it."""
    found = [[value for value in values_in(text) if value.kind in _VALUED] for text in (new, old)]
    if [len(values) for values in found] != [1, 1]:
        return None
    (first,), (second,) = found
    if first.kind != second.kind or _plain(first.text) == _plain(second.text):
        return None
    return first.text, second.text


def _name(title: str, said: SaidBy, language: str, *, numbered: bool) -> str:
    """“Title”, or 5.3 of “Title”: the clause's number where the sentence stands in one."""
    name = quoted(title, language) if title else ""
    number = _number(said) if numbered else ""
    if not number or title.startswith(number):
        return name or number
    return phrases("differences", language)["place"].format(number=number, name=name) if name else number


def _number(said: SaidBy) -> str:
    """The number of the clause that a sentence stands in: of the nearest numbered line at or above it, else of the
    section's title."""
    lines = said.candidate.anchor_text.split("\n")[: said.first + 1]
    for line in (*reversed(lines), said.candidate.section_title or ""):
        number = _leading_number(line)
        if number:
            return number
    return ""


def _leading_number(line: str) -> str:
    """5.3 of "5.3 Payment term": a number with points before a word with a capital."""
    token, _, rest = line.strip().partition(" ")
    parts = token.rstrip(".)").split(".")
    is_number = "." in token and all(part.isdigit() and len(part) <= 3 for part in parts)
    return ".".join(parts) if is_number and rest[:1].isupper() else ""
