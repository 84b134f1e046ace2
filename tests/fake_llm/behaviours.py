"""How the fake model answers: simple, deterministic readers of the prompt.

Every behaviour finds the candidates by the look of their ids (``p5_l12_l14``, ``d42:p5_l12_l14``, ``id7``)
and fills whatever JSON schema was asked for, so that none of them knows a prompt's wording.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fake_llm.wire import FakeReply, FakeRequest

Behaviour = Callable[[FakeRequest], FakeReply | str]

CANDIDATE_ID = re.compile(r"(?<![\w:])(?:[A-Za-z0-9_-]+:)?p\d+_l\d+(?:_p\d+)?_l\d+(?!\w)|(?<!\w)id\d+(?!\w)")
#: Where a prompt introduces a candidate, as opposed to a passage that merely mentions an id.
_INTRODUCED = re.compile(rf"(?:^\W*candidate_id\W+|<<<DATA\s+|^\W*)({CANDIDATE_ID.pattern})", re.MULTILINE)
_QUESTION = re.compile(r"^\W*(?:question|pregunta)\W+(.+)$", re.IGNORECASE | re.MULTILINE)
#: A fence around the question itself, which stands between its label and its words.
_FENCE_OPENS = re.compile(r"<<<DATA question \w+>>>\s*")
#: An example of grades by id, such as {"id0":9,"id3":5}.
_SHOWN_GRADES = re.compile(r'\{"id\d+":\d')
_WORD = re.compile(r"[^\W_]{3,}")
_STOP = frozenset(
    re.findall(
        r"\w+",
        """
        the and for are was were does what which who how when where why that this with from into
        must may shall say says paper document policy section use used uses que los las del una
        por para con cual como
        """,
    )
)
_PRIMARY_WORDS = 2
_QUOTED_WORDS = 15
#: Lines of a candidate that the prompt wrote.
_NOT_TEXT = re.compile(
    r"<<<|(?:candidate_id|document|section|text|source|effective|found by)\b.{0,3}:|effective |\W*$"
)


@dataclass(frozen=True)
class Candidate:
    """A candidate as the prompt shows it: its id, and all text up to the next one."""

    candidate_id: str
    text: str


@dataclass
class Verdicts:
    """What a behaviour thinks of each candidate: a share of the best, 0 to 1, in prompt order; ``whole`` is what it
    thinks of a prompt that shows one passage without an id."""

    strength: dict[str, float]
    notes: Mapping[str, str] = field(default_factory=dict)
    whole: float = 0.5

    def role(self, candidate_id: str) -> str:
        value = self.strength.get(candidate_id, 0.0)
        thresholds = ((0.8, "primary"), (0.5, "supporting"), (0.2, "tangential"))
        return next((role for bar, role in thresholds if value >= bar), "discarded")

    def reason(self, candidate_id: str) -> str:
        return self.notes.get(candidate_id, "no word of the question stands in it")


def candidates_in(request: FakeRequest) -> list[Candidate]:
    """The candidates the prompt shows, in order. An id counts where it opens a line, follows the words
    ``candidate_id`` or opens a fence; a prompt without any such place is searched for ids anywhere."""
    introduced = [(found[1], found.start(1)) for found in _INTRODUCED.finditer(request.user)]
    anywhere = [(found[0], found.start()) for found in CANDIDATE_ID.finditer(request.user)]
    first: dict[str, int] = {}
    for name, start in introduced or anywhere:
        first.setdefault(name, start)
    ids = list(first)
    starts = [*first.values(), len(request.user)]
    return [Candidate(name, request.user[starts[i] : starts[i + 1]]) for i, name in enumerate(ids)]


def question_of(request: FakeRequest) -> str:
    """The question: the text behind a label that says so, else the first line of the user's part."""
    text = _FENCE_OPENS.sub("", request.user)
    labelled = _QUESTION.search(text)
    return labelled[1] if labelled else text.strip().split("\n", 1)[0]


def quote_of(candidate: Candidate, wanted: set[str]) -> str:
    """The beginning of the line of the passage that holds most of the question, as it stands there."""
    lines = [line for line in candidate.text.split("\n") if line.strip() and not _NOT_TEXT.match(line)]
    best = max(lines, key=lambda line: len(wanted & question_words(line)), default="")
    return " ".join(best.split()[:_QUOTED_WORDS])


def question_words(question: str) -> set[str]:
    """The question's content words, lower-case, roughly stemmed."""
    return {_stem(word) for word in _WORD.findall(question.lower()) if word not in _STOP}


def _stem(word: str) -> str:
    return re.sub(r"(?:ings?|ed|es|s)$", "", word) if len(word) > 4 else word


def arbiter_keywords(request: FakeRequest) -> FakeReply:
    """Roles by the words of the question that stand in each candidate; plain text gets its first sentence."""
    wanted = question_words(question_of(request))
    strength: dict[str, float] = {}
    notes: dict[str, str] = {}
    for candidate in candidates_in(request):
        hits = sorted(wanted & question_words(candidate.text))
        strength[candidate.candidate_id] = _strength(len(hits), len(wanted))
        if hits:
            notes[candidate.candidate_id] = f"holds {', '.join(hits)}"
    return _answered(request, Verdicts(strength, notes))


def _strength(hits: int, wanted: int) -> float:
    """Two words or all of them: primary; one of more: tangential; none: discarded."""
    if hits == 0:
        return 0.0
    return 0.9 if hits >= min(_PRIMARY_WORDS, wanted) else 0.4


def schema_echo(request: FakeRequest) -> FakeReply:
    """The smallest answer of the requested shape, whatever was asked: all candidates discarded."""
    return _answered(request, Verdicts({candidate.candidate_id: 0.0 for candidate in candidates_in(request)}))


def injection_obeying(*, carrier_id: str | None = None, carrier_text: str | None = None) -> Behaviour:
    """A model that does what a hidden instruction says, whatever its wording: the carrier is primary (and the
    judge's Yes), all others are discarded. The carrier is known by id, or by a piece of its text."""

    def is_carrier(candidate: Candidate) -> bool:
        return candidate.candidate_id == carrier_id or (
            carrier_text is not None and carrier_text in candidate.text
        )

    def behave(request: FakeRequest) -> FakeReply:
        found = candidates_in(request)
        if _is_judge(request) and carrier_text is not None:
            return _yes_or_no(8.0 if carrier_text in request.user else -8.0)
        strength = {candidate.candidate_id: 1.0 if is_carrier(candidate) else 0.0 for candidate in found}
        whole = 1.0 if carrier_text is not None and carrier_text in request.user else 0.0
        return _answered(request, Verdicts(strength, dict.fromkeys(strength, "as instructed"), whole))

    return behave


def judge(log_odds: Mapping[str, float], *, default: float = -2.0) -> Behaviour:
    """A Yes/No judge: the first key that stands in the prompt gives log p(Yes) - log p(No); calls that are not
    for a judge are answered by :func:`arbiter_keywords`."""

    def behave(request: FakeRequest) -> FakeReply:
        if not _is_judge(request):
            return arbiter_keywords(request)
        return _yes_or_no(next((value for key, value in log_odds.items() if key in request.user), default))

    return behave


def _is_judge(request: FakeRequest) -> bool:
    return request.want_logprobs


def _yes_or_no(log_odds: float) -> FakeReply:
    """The answer with log-probabilities spread over token variants whose sums give exactly these odds."""
    yes = 1.0 / (1.0 + math.exp(-log_odds))
    shares = (("Yes", 0.7), (" Yes", 0.2), ("yes", 0.08), ("YES", 0.02))
    top = {token: math.log(yes * share) for token, share in shares}
    top |= {token.replace("Yes", "No").replace("yes", "no").replace("YES", "NO"): 0.0 for token in top}
    no_shares = dict(zip(list(top)[4:], (share for _, share in shares), strict=True))
    top |= {token: math.log((1.0 - yes) * share) for token, share in no_shares.items()}
    text = "Yes. The passage says so." if log_odds > 0 else "No. The passage says nothing of it."
    return FakeReply(text, first_logprobs=top)


# --- answers of any shape ------------------------------------------------------------------------------


def _answered(request: FakeRequest, verdicts: Verdicts) -> FakeReply:
    """The verdicts in the shape the call asks for."""
    if _is_judge(request):
        best = max(verdicts.strength.values(), default=0.5)
        return _yes_or_no(2.0 if best >= 0.5 else -2.0)
    schema = request.schema or _schema_in_words(request)
    if schema is None and _SHOWN_GRADES.search(request.system):
        return FakeReply(_grades(verdicts))
    if schema is None:
        return FakeReply(_plain_text(request, verdicts))
    value = Filler(schema, verdicts, request).fill(schema)
    return FakeReply(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _schema_in_words(request: FakeRequest) -> dict[str, Any] | None:
    """The JSON schema that a prompt contains when the endpoint takes none, so that the fake can follow it."""
    if "JSON schema" not in request.system:
        return None
    start = request.system.find("{", request.system.find("JSON schema"))
    if start < 0:
        return None
    try:
        schema, _ = json.JSONDecoder().raw_decode(request.system, start)
    except ValueError:
        return None
    return schema


def _grades(verdicts: Verdicts) -> str:
    """The compact object that a prompt shows an example of: grades of 5 and above, nothing for the rest."""
    grades = {name: round(10 * value) for name, value in verdicts.strength.items() if value >= 0.5}
    return json.dumps(grades, separators=(",", ":"))


def _plain_text(request: FakeRequest, verdicts: Verdicts) -> str:
    best = max(verdicts.strength, key=verdicts.strength.__getitem__, default=None)
    if best is None:
        return "Hello. Nothing was found that answers this."
    return f"The answer stands in {best}: {verdicts.reason(best)}."


class Filler:
    """Makes a value for a JSON schema: lists of candidates get one item each, maps one entry per score."""

    def __init__(self, root: dict[str, Any], verdicts: Verdicts, request: FakeRequest) -> None:
        self._definitions = root.get("$defs", {})
        self._verdicts = verdicts
        self._request = request
        wanted = question_words(question_of(request))
        self._quotes = {c.candidate_id: quote_of(c, wanted) for c in candidates_in(request)}

    def fill(self, schema: dict[str, Any], *, name: str = "", candidate: str | None = None) -> Any:
        """A value that satisfies ``schema``, about ``candidate`` where there is one."""
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._choice(schema["enum"], candidate)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if kind == "object":
            return self._object(schema, candidate)
        if kind == "array":
            return self._array(schema, name, candidate)
        if kind in ("integer", "number"):
            return self._number(schema, name, candidate)
        if kind == "boolean":
            return candidate is not None and self._verdicts.strength.get(candidate, 0.0) >= 0.5
        return self._string(name, candidate)

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while True:
            if "$ref" in schema:
                schema = self._definitions[schema["$ref"].rsplit("/", 1)[1]]
            elif "allOf" in schema:
                schema = schema["allOf"][0]
            elif "anyOf" in schema or "oneOf" in schema:
                options = schema.get("anyOf") or schema["oneOf"]
                schema = next(option for option in options if option.get("type") != "null")
            else:
                return schema

    def _object(self, schema: dict[str, Any], candidate: str | None) -> dict[str, Any]:
        properties = schema.get("properties", {})
        if properties:
            return {
                key: self.fill(
                    value, name=key, candidate=key if key in self._verdicts.strength else candidate
                )
                for key, value in properties.items()
            }
        of = schema.get("additionalProperties")
        if not isinstance(of, dict):
            return {}
        kept = [name for name, value in self._verdicts.strength.items() if value >= 0.5]
        return {name: self.fill(of, name="score", candidate=name) for name in kept}

    def _array(self, schema: dict[str, Any], name: str, candidate: str | None) -> list[Any]:
        item = schema.get("items", {"type": "string"})
        if candidate is None and self._about_candidates(item, name):
            return [self.fill(item, name="candidate_id", candidate=one) for one in self._verdicts.strength]
        if name in ("conflicts", "hints", "quotes", "clarification"):
            return []
        return [self.fill(item, name=name, candidate=candidate) for _ in range(schema.get("minItems", 0))]

    def _about_candidates(self, item: dict[str, Any], name: str) -> bool:
        item = self._resolved(item)
        keys = set(item.get("properties", {}))
        if item.get("type") == "string":
            return name in ("candidate_ids", "ids")
        return bool(keys & {"candidate_id", "id"})

    def _number(self, schema: dict[str, Any], name: str, candidate: str | None) -> int | float:
        low, high = schema.get("minimum", 0), schema.get("maximum", 10)
        whole = self._verdicts.whole
        share = self._verdicts.strength.get(candidate, whole) if candidate else whole
        value = low + share * (high - low)
        return round(value) if schema.get("type") == "integer" else value

    def _choice(self, options: list[Any], candidate: str | None) -> Any:
        if candidate is not None and self._verdicts.role(candidate) in options:
            return self._verdicts.role(candidate)
        return options[0]

    def _string(self, name: str, candidate: str | None) -> str:
        if candidate is None:
            return question_of(self._request) if "question" in name else f"{name or 'text'} of the fake model"
        if name in ("candidate_id", "id"):
            return candidate
        if "counter" in name:
            return "It may say the same of another matter."
        if name == "quote":
            return self._quotes.get(candidate, "")
        return self._verdicts.reason(candidate)


BEHAVIOURS: dict[str, Behaviour] = {"arbiter-keywords": arbiter_keywords, "schema-echo": schema_echo}
