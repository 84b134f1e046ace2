"""What is known of a document's force: its title, version and date, and which other document it replaces or amends."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Literal

from arbitration.pool import PoolDocument
from arbitration.precedence.dates import (
    Day,
    effective_day,
    first_day,
    issued_day,
    version_in,
    years_in,
)
from arbitration.precedence.statements import Replacement, edits, replacement_in, says_it_is_over
from arbitration.precedence.texts import sentences_of, subject_stems
from arbitration.questions.lexicon import ORDINALS
from arbitration.text import fold, normalise

DocumentRelationKind = Literal["replaces", "restates", "version", "amends", "excepts"]

_EXTENSION = re.compile(r"\.[a-z]{2,4}\Z", re.IGNORECASE)
_CODE = re.compile(r"(?<![\w/-])(?:[A-Z]{1,6}[-–/ ]?\d[\w./-]{0,20}|\d{1,4}/\d{2,4})(?![\w/])")
_AMENDMENT = re.compile(
    r"\b(?:amend(?:ment|ments|ing)|addend(?:um|a)|variation|varied|supplement(?:al|ary)?|side letter|endorsement"
    r"|change (?:order|notice|request)"
    r"|corrigend(?:um|a)|errat(?:um|a)|rider|modification|resolution|adenda|modificatori[oa]|modificativ[oa]"
    r"|modificación"
    r"|enmienda|novación|suplemento|corrección)\b",
    re.IGNORECASE,
)
_EXCEPTION = re.compile(
    r"\b(?:exceptions?|waivers?|derogations?|exemptions?|dispensations?|deviations?|dispensa|excepci(?:ón|ones)"
    r"|exenci(?:ón|ones))\b",
    re.IGNORECASE,
)
_RESTATED = re.compile(
    r"\b(?:amended and restated|restated|consolidated|texto refundido|refundid[oa])\b", re.IGNORECASE
)
#: Documents of which a later one does not end an earlier one: each speaks of a time or of parties of its own.
_NOT_VERSIONED = re.compile(
    r"\b(?:agreements?|contracts?|leases?|deeds?|licen[cs]es?|letters?|minutes|reports?|statements?|10-[kq]"
    r"|filings?|budgets?|invoices?"
    r"|accounts|orders?|judge?ments?|contratos?|acuerdos?|actas?|informes?|cuentas|facturas?|escrituras?"
    r"|sentencias?)\b",
    re.IGNORECASE,
)
_ALL_EARLIER = re.compile(
    r"\b(?:all|any|every|tod[oa]s)\b.{0,30}\b(?:earlier|previous|prior|former|preceding|anterior(?:es)?)\b"
    r"|\b(?:the|its|la|el) (?:earlier|previous|prior|former|preceding)\b|\b(?:versión|edición|política) (?:anterior"
    r"|de)\b",
    re.IGNORECASE,
)
_COMPANY = re.compile(
    r"\b((?:[A-Z][\w&'-]{1,30} ){1,4})(?:Inc|Ltd|Limited|LLC|LLP|plc|PLC|GmbH|AG|Corp|Corporation|Company|S\.A|S\.L|SA"
    r"|AS|B\.V|N\.V)\b"
)
_NO_TITLE = re.compile(
    rf"(?:{_COMPANY.pattern}\.?|(?:private and |strictly )?confidential|page \d+ (?:of|/) \d+"
    rf"|\W*\d[\d\W]*(?:[a-z]+ \d{{4}})?)",
    re.IGNORECASE,
)
_DRAFT = re.compile(
    r"^\W{0,3}draft\b|\b(?:status|estado)\s?[:=-]\s?(?:draft|borrador)\b|^\W{0,3}borrador\b",
    re.IGNORECASE | re.MULTILINE,
)
_COUNT = re.compile(
    r"\b(?:no\.?|number|n\.º|núm\.?|order|endorsement|amendment|addendum|corrigendum|adenda)\s?(?P<digits>\d{1,3})\b"
    r"|\b(?P<word>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|primera|segunda|tercera|cuarta"
    r"|quinta)\b",
    re.IGNORECASE,
)
_FILE_NOISE = re.compile(
    r"\d+|\b(?:old|new|final|draft|copy|rev|ver|version|edition|v|r|st|nd|rd|th|current|previous|anterior|nueva"
    r"|nuevo|vigente)\b"
)
#: Share of a title's content words that a text must have to name it, and to be taken for the same title.
_NAMED, _SAME = 0.6, 0.75
#: The same for a document of which nothing but its opening says that it changes another.
_SURELY_NAMED = 0.9
_OPENING_CHARACTERS = 2500
#: Documents of one title in one pool beyond which a title tells none of them apart.
_MOST_OF_A_TITLE = 4


@dataclass(frozen=True)
class DocumentFacts:
    """A document by its record, its first lines (``opening``) and the sentences on replacement found in it."""

    document: PoolDocument
    opening: str
    statements: tuple[str, ...] = ()

    @cached_property
    def title(self) -> str:
        """Its first line of two words or more that is neither a company's name alone nor a date."""
        lines = (normalise(line)[:200] for line in self.opening.split("\n"))
        return next(
            (line for line in lines if len(line.split()) > 1 and not _NO_TITLE.fullmatch(line)), self.name
        )

    @cached_property
    def name(self) -> str:
        """The file's name without its ending."""
        return normalise(_EXTENSION.sub("", self.document.name).replace("_", " "))[:200]

    @cached_property
    def head(self) -> str:
        """Title and name together."""
        return f"{self.title} · {self.name}"

    @cached_property
    def title_stems(self) -> frozenset[str]:
        """What the title says, figures aside."""
        plain = _RESTATED.sub(" ", self.title)
        return subject_stems(plain, self.document.language)

    @cached_property
    def codes(self) -> frozenset[str]:
        """Numbers it goes by, such as SB-2017-03 or 8/2022."""
        return frozenset(code.replace("–", "-") for code in _CODE.findall(f"{self.title} {self.name}"))

    @cached_property
    def version(self) -> tuple[int, ...] | None:
        """Its version, revision or edition."""
        return version_in(self.head) or version_in(self.opening[:400])

    @cached_property
    def effective(self) -> tuple[Day, str] | None:
        """The day from which it applies: as people recorded it or it says, its first date, or the year it goes by."""
        recorded = self.document.effective_date
        if recorded:
            year, month, day = (int(part) for part in recorded.split("-")[:3])
            return (year, month, day), recorded
        said = effective_day(self.opening) or issued_day(self.opening) or first_day(self.opening[:800])
        if said:
            return said
        years = years_in(self.head)
        return ((max(years), 0, 0), str(max(years))) if years else None

    @cached_property
    def is_over(self) -> bool:
        """Whether its opening marks it as out of force."""
        return says_it_is_over(self.opening)

    @cached_property
    def is_draft(self) -> bool:
        """Whether it is not in force yet."""
        return _DRAFT.search(self.opening[:400]) is not None

    @cached_property
    def count(self) -> int:
        """Which amendment it is: 2 for "Amendment No. 2" and "Second Amendment", 0 where it does not say."""
        match = _COUNT.search(self.title)
        if match is None:
            return 0
        return int(match["digits"]) if match["digits"] else ORDINALS[fold(match["word"])]

    @cached_property
    def changes_others(self) -> bool:
        """Whether its opening speaks of changing a text."""
        return any(edits(sentence) for sentence in sentences_of(self.opening))

    @cached_property
    def is_amendment(self) -> bool:
        """Whether its title, or a heading in capitals near its beginning, says that it amends another."""
        capitals = (line[:200] for line in self.opening.split("\n") if line.isupper())
        return any(_AMENDMENT.search(line) for line in (self.head, *capitals))

    @cached_property
    def is_exception(self) -> bool:
        """Whether its title, or a heading near its beginning, says that it grants an exception."""
        return _EXCEPTION.search(f"{self.head} {self.opening[:400]}") is not None

    @cached_property
    def companies(self) -> frozenset[str]:
        """The companies that its opening names, and its recorded issuer."""
        found = {match.strip().casefold() for match in _COMPANY.findall(self.opening)}
        return frozenset(found | ({self.document.issuer.casefold()} if self.document.issuer else set()))

    @cached_property
    def file_family(self) -> str:
        """The file's name without dates and versions: what its versions share."""
        plain = _FILE_NOISE.sub(" ", re.sub(r"[\W_]+", " ", fold(self.name)))
        return " ".join(word for word in plain.split() if len(word) > 1)

    def is_named_in(self, text: str) -> float:
        """How far a text names this document, 0 to 1."""
        plain = normalise(text[:MOST_NAMED_IN])
        if any(code in plain.replace("–", "-") for code in self.codes):
            return 1.0
        if not self.title_stems:
            return 0.0
        share = len(self.title_stems & subject_stems(plain, self.document.language)) / len(self.title_stems)
        own_years = set(years_in(self.title)) | ({self.effective[0][0]} if self.effective else set())
        said = set(years_in(plain))
        if said and own_years and not said & own_years:
            share *= 0.7  # the same title of another year
        return share


MOST_NAMED_IN = 1500


@dataclass(frozen=True, slots=True)
class DocumentRelation:
    """``over`` prevails over ``under``: ids of documents. ``said`` is the sentence that says so, if any does;
    ``is_sure`` where more than titles and dates speaks for it."""

    over: str
    under: str
    kind: DocumentRelationKind
    said: str = ""
    is_sure: bool = True


def document_relations(facts: Sequence[DocumentFacts]) -> list[DocumentRelation]:
    """How the documents stand to each other; of two only the strongest relation, none where they contradict."""
    found: dict[tuple[str, str], DocumentRelation] = {}
    for over, under in permutations(facts, 2):
        relation = _relation(over, under, facts)
        if relation is not None:
            found[relation.over, relation.under] = relation
    return [
        relation
        for (over, under), relation in found.items()
        if (under, over) not in found or _STRENGTH[relation.kind] > _STRENGTH[found[under, over].kind]
    ]


_STRENGTH: Mapping[DocumentRelationKind, int] = {
    "replaces": 4, "restates": 3, "amends": 2, "excepts": 2, "version": 1
}  # fmt: skip


def _relation(
    over: DocumentFacts, under: DocumentFacts, facts: Sequence[DocumentFacts]
) -> DocumentRelation | None:
    if over.is_draft:
        return None
    said = _replacement_said(over, under)
    if said:
        return _made(over, under, "replaces", said)
    if _is_restated(over, under):
        return _made(over, under, "restates", _line_with(_RESTATED, over.opening))
    if _is_amended_by(over, under, facts):
        return _made(over, under, "amends", over.title)
    if over.is_exception and not under.is_exception and _names_what_it_changes(over, under, facts):
        return _made(over, under, "excepts", over.title)
    if _is_later_version(over, under, facts):
        relation = _made(over, under, "version", "")
        return relation if _is_numbered_alike(over, under) else replace(relation, is_sure=False)
    return None


def _is_amended_by(over: DocumentFacts, under: DocumentFacts, facts: Sequence[DocumentFacts]) -> bool:
    """Whether the second is changed by the first: an original by its amendment, an amendment by a later one."""
    if over.is_amendment and under.is_amendment:
        return _same_title(over, under) and _is_later(over, under)
    if under.is_amendment:
        return False
    if over.is_amendment:
        return _names_what_it_changes(over, under, facts)
    return (
        over.changes_others
        and not _same_title(over, under)
        and under.is_named_in(over.opening) >= _SURELY_NAMED
    )


def _made(
    over: DocumentFacts, under: DocumentFacts, kind: DocumentRelationKind, said: str
) -> DocumentRelation:
    return DocumentRelation(over.document.document_id, under.document.document_id, kind, said)


def _replacement_said(over: DocumentFacts, under: DocumentFacts) -> str:
    """The sentence of either document that says that the first replaces the second."""
    for sentence in (*over.statements, *under.statements):
        said = replacement_in(sentence)
        if said is None:
            continue
        if sentence in over.statements and _says_own_replaces(said, under, over):
            return sentence
        if sentence in under.statements and _says_own_is_replaced(said, under, over):
            return sentence
    return ""


def _says_own_replaces(said: Replacement, other: DocumentFacts, own: DocumentFacts) -> bool:
    """Of a sentence that stands in ``own``: whether it says that ``own`` replaces ``other``."""
    if said.form == "replaces":
        return _names(said.after, other, own) or (
            _ALL_EARLIER.search(said.after) is not None
            and _same_title(own, other)
            and not _is_later(other, own)
        )
    if said.form == "ended":
        return _names(said.before, other, own)
    return _names(said.before, other, own) and _THIS.search(said.after) is not None


def _says_own_is_replaced(said: Replacement, own: DocumentFacts, other: DocumentFacts) -> bool:
    """Of a sentence that stands in ``own``: whether it says that ``other`` replaces ``own``."""
    return said.form == "replaced_by" and _names(said.after, other, own)


_THIS = re.compile(r"\b(?:this|these|present|est[ea]|presente)\b", re.IGNORECASE)


def _names(text: str, other: DocumentFacts, own: DocumentFacts) -> bool:
    """Whether the text names the other document, and rather that one than the document it stands in."""
    share = other.is_named_in(text)
    return share >= _NAMED and (
        share > own.is_named_in(text) or not _same_title(own, other) or _is_later(own, other)
    )


def _same_title(first: DocumentFacts, second: DocumentFacts) -> bool:
    one, other = first.title_stems, second.title_stems
    return bool(one and other) and len(one & other) / len(one | other) >= _SAME


def _is_restated(over: DocumentFacts, under: DocumentFacts) -> bool:
    if not _RESTATED.search(over.head) or not _same_title(over, under):
        return False
    return not _RESTATED.search(under.head) or _is_later(over, under)


def _names_what_it_changes(over: DocumentFacts, under: DocumentFacts, facts: Sequence[DocumentFacts]) -> bool:
    """Whether an amendment's title or opening names the other document; one that names no document of these by its
    title changes the only one of the kind it speaks of ("the Agreement")."""
    opening = f"{over.head}\n{over.opening[:_OPENING_CHARACTERS]}"
    if under.is_named_in(opening) >= _NAMED:
        return True
    others = [f for f in facts if f is not over and not f.is_amendment and not f.is_exception]
    if any(other.is_named_in(opening) >= _NAMED for other in others):
        return False
    head_noun = under.title_stems & _KIND_STEMS
    spoken = subject_stems(opening, over.document.language)
    return bool(head_noun & spoken) and sum(bool(f.title_stems & head_noun) for f in others) == 1


_KIND_STEMS = frozenset().union(
    *(
        subject_stems(words, language)
        for words, language in (
            ("agreement contract lease policy terms act regulations bylaws licence rules", "en"),
            ("plan schedule handbook code", "en"),
            ("contrato acuerdo política ley reglamento estatutos arrendamiento licencia normas plan código", "es"),
        )
    )
)  # fmt: skip


def _is_later_version(over: DocumentFacts, under: DocumentFacts, facts: Sequence[DocumentFacts]) -> bool:
    """Whether both are the same document, the first later: same title or same file name, date and version aside."""
    if over.is_amendment or under.is_amendment or not _is_later(over, under):
        return False
    same_file = over.file_family == under.file_family and len(over.file_family) > 3
    if not _same_title(over, under):
        return False
    if over.companies and under.companies and not over.companies & under.companies:
        return False
    if _NOT_VERSIONED.search(over.title) and not (same_file and over.version and under.version):
        return False
    family = sum(_same_title(over, other) for other in facts)
    return same_file or family <= _MOST_OF_A_TITLE


def _is_numbered_alike(over: DocumentFacts, under: DocumentFacts) -> bool:
    """Whether more than a title says that both are one document: the files' name, or version numbers of both."""
    same_file = over.file_family == under.file_family and len(over.file_family) > 3
    return same_file or bool(over.version and under.version)


def _is_later(over: DocumentFacts, under: DocumentFacts) -> bool:
    """By version where both have one that differs, else by date; a document that is over is the earlier one."""
    if over.is_over != under.is_over:
        return under.is_over
    if over.version and under.version and over.version != under.version:
        return over.version > under.version
    if over.count and under.count and over.count != under.count:
        return over.count > under.count
    if over.effective and under.effective:
        return over.effective[0] > under.effective[0]
    return False


def _line_with(pattern: re.Pattern[str], text: str) -> str:
    return next((s for s in sentences_of(text) if pattern.search(s)), "")
