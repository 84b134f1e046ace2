"""Defined terms: which a text defines, which it uses, and where the documents define those that the best passages use.

A lawyer reads ""Confidential Information" means ..." beside every clause that speaks of Confidential Information.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from arbitration.detectors.base import Anchor, DetectorContext, Span
from arbitration.pool import PoolCandidate
from arbitration.protocols import LineRow
from arbitration.sentences import sentences_of
from arbitration.settings import MethodName
from arbitration.text import fold, is_stop_word

METHOD: MethodName = "references"
#: Characters of a text that are read.
MOST_CHARACTERS = 4000
#: Passages whose terms are looked up, terms in all, lines read for them, and lines that a definition takes up.
_PASSAGES, _TERMS, _LINES, _LONG = 6, 8, 300, 3
_QUOTED = r"[\"“«'‘](?P<quoted>[^\"“”«»‘’]{2,60})[\"”»'’]"
_BARE = r"(?P<bare>[A-ZÀ-Þ][\w-]{1,30}(?: [A-ZÀ-Þ][\w-]{1,30}){0,4})"
_MEANS = (
    r"(?:shall |will )?(?:means?|refers? to|is defined as|has the meaning|have the meaning|denotes|significa[nr]?"
    r"|se define como|designa|tiene el significado)\b"
)
_DEFINES = re.compile(
    rf"{_QUOTED},?(?: \([^)]{{1,60}}\))?:? {_MEANS}|(?:^"
    rf"|[.;:\n] ?(?:\(?\w{{1,3}}[.)] ?)?){_BARE},?(?: \([^)]{{1,60}}\))? {_MEANS}"
    rf"|(?i:se entende?rá[n]? por|se entiende por) {_QUOTED.replace('quoted', 'spanish')}"
)
#: Every definition has one of these, and to look for them is quick.
_MARKS = frozenset("\"“«'‘")
_PIECES = ("mean", "refer", "defin", "denote", "signif", "design", "entende", "entiende")
_TERM = re.compile(r"(?<![.?!:;\n•\"“] )(?<!\A)\b[A-ZÀ-Þ][a-zà-ÿ]{2,30}(?:[ -][A-ZÀ-Þ][a-zà-ÿ]{2,30}){0,3}\b")


def terms_defined(text: str) -> tuple[str, ...]:
    """The terms of which a text says what they mean; "The means to do so" defines nothing."""
    plain = " ".join(text[:MOST_CHARACTERS].split(" "))
    if not any(piece in plain for piece in _PIECES):
        return ()
    found = (m["quoted"] or m["bare"] or m["spanish"] for m in _DEFINES.finditer(plain))
    terms = dict.fromkeys(" ".join(term.split()) for term in found if term and term.strip())
    return tuple(term for term in terms if not is_stop_word(term) and not is_stop_word(term, "es"))


def definition_in(text: str, term: str) -> str:
    """The sentence of a text that says what a term means, from the term on; empty where none does."""
    for sentence in sentences_of(text[:MOST_CHARACTERS]):
        if term in terms_defined(sentence.text):
            place = sentence.text.find(term)
            return sentence.text[max(0, place - (sentence.text[place - 1 : place] in _MARKS)) :]
    return ""


def uses(term: str, text: str) -> bool:
    """Whether a text uses a defined term, with its capitals; a plural counts."""
    if not term[:1].isupper():
        return False
    flat = " ".join(text[:MOST_CHARACTERS].split())
    place = flat.find(term)
    while place >= 0:
        before, behind = flat[place - 1 : place], flat[place + len(term) : place + len(term) + 2]
        if not before.isalnum() and not re.sub(r"^s\b", "", behind)[:1].isalnum():
            return True
        place = flat.find(term, place + 1)
    return False


def terms_of(text: str) -> tuple[str, ...]:
    """What may be a defined term in a text: words in capitals inside a sentence."""
    flat = " ".join(text[:MOST_CHARACTERS].split())
    return tuple(dict.fromkeys(match[0] for match in _TERM.finditer(flat)))


def definitions_of(candidates: Sequence[PoolCandidate], context: DetectorContext) -> list[Anchor]:
    """Anchors of the lines that define what the best candidates speak of, each in the candidate's own document."""
    best = sorted(candidates, key=lambda candidate: candidate.rrf_rank)[:_PASSAGES]
    wanted: dict[tuple[str, str], PoolCandidate] = {}
    for candidate in best:
        own = {fold(term) for term in terms_defined(candidate.anchor_text)}
        for term in terms_of(candidate.anchor_text):
            if fold(term) not in own and len({name for _, name in wanted}) < _TERMS:
                wanted.setdefault((candidate.document_id, term), candidate)
    if not wanted:
        return []
    rows = context.session.lines_with(sorted({term for _, term in wanted}), limit=_LINES)
    return _anchors(wanted, rows)


def _anchors(wanted: dict[tuple[str, str], PoolCandidate], rows: Sequence[LineRow]) -> list[Anchor]:
    anchors: dict[tuple[str, str], Anchor] = {}
    for row in rows:
        for term in terms_defined(row.text):
            key = (row.document_id, term)
            if key in wanted and key not in anchors:
                anchors[key] = _anchor(row, term, wanted[key])
    return list(anchors.values())


def _anchor(row: LineRow, term: str, user: PoolCandidate) -> Anchor:
    return Anchor(
        method=METHOD,
        span=Span(row.document_id, row.page_num, row.line_num, row.page_num, row.line_num + _LONG - 1),
        score=1.0 / (1 + user.rrf_rank),
        why=f"defines “{term}”, which {user.candidate_id} uses",
        section_id=row.section_id,
    )
