"""Which detectors run for a question: a pure function of the question and the documents' profile.

No model routes. Every choice, to run or to skip, carries its reason (engines.md, section 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arbitration.pool import DispatchPlan
from arbitration.questions.model import Intent, ParsedQuestion
from arbitration.settings import METHODS, MethodName

#: Intents that ask for something the documents say, as opposed to looking up a named place.
QUESTION_INTENTS: frozenset[Intent] = frozenset(
    {"qa", "summarization", "listing", "comparison", "definition", "yes_no", "numeric"}
)


@dataclass(frozen=True, slots=True)
class DispatchFacts:
    """All a decision may depend on."""

    question: ParsedQuestion
    has_usable_toc: bool
    has_embedder: bool = True
    may_reason_over_toc: bool = False
    toc_reasoning_refused: str = "no language model is configured for it"
    follow_references: bool = False
    reads_along: bool = False


def decide(
    facts: DispatchFacts,
    *,
    forced: Sequence[MethodName] = (),
    second_opinions: Sequence[MethodName] = (),
) -> DispatchPlan:
    """The plan for one question.

    ``forced`` methods run alone if given, whatever the rules say. ``second_opinions`` run where the rules would skip
    them, because the reranker's features need their scores; their reason says so.
    """
    chosen = _forced(facts, forced) if forced else _by_rule(facts)
    if not forced:
        for method in second_opinions:
            runs, reason = chosen[method]
            if not runs and (method != "embedding" or facts.has_embedder):
                chosen[method] = (True, f"second opinion, its score is a feature ({reason})")
    run = tuple(method for method in METHODS if chosen[method][0])
    return DispatchPlan(
        methods_run=run,
        methods_skipped=tuple(method for method in METHODS if method not in run),
        reasons={method: chosen[method][1] for method in METHODS},
    )


_Choice = dict[MethodName, tuple[bool, str]]
#: For a method that has no rule below.
ALWAYS = (True, "searches for every question")


def _forced(facts: DispatchFacts, forced: Sequence[MethodName]) -> _Choice:
    choice: _Choice = {m: (m in forced, "forced by the user" if m in forced else "not among the forced methods")
                       for m in METHODS}  # fmt: skip
    if "embedding" in forced and not facts.has_embedder:
        choice["embedding"] = (False, "forced by the user, but no embedder is configured")
    if "toc_reasoning" in forced and not facts.may_reason_over_toc:
        choice["toc_reasoning"] = (False, f"forced by the user, but {facts.toc_reasoning_refused}")
    return choice


def _by_rule(facts: DispatchFacts) -> _Choice:
    question = facts.question
    choice: _Choice = {
        "toc": _toc(facts),
        "cooccurrence": _cooccurrence(question),
        "bm25": _bm25(question),
        "pattern": _pattern(question),
    }
    chosen_any = any(runs for runs, _ in choice.values())
    choice["embedding"] = _embedding(facts, chosen_any)
    choice["toc_reasoning"] = _toc_reasoning(facts)
    choice["references"] = _references(facts)
    return {method: choice.get(method, ALWAYS) for method in METHODS}


def _toc(facts: DispatchFacts) -> tuple[bool, str]:
    if not facts.has_usable_toc:
        return False, "no document in scope has a usable table of contents"
    if facts.question.intent not in QUESTION_INTENTS:
        return False, "the question only names a place or a code"
    if not facts.question.keywords:
        return False, "the question has no keyword to look for in titles"
    return True, f"usable table of contents and intent {facts.question.intent}"


def _toc_reasoning(facts: DispatchFacts) -> tuple[bool, str]:
    if not facts.may_reason_over_toc:
        return False, facts.toc_reasoning_refused
    if facts.question.intent not in QUESTION_INTENTS:
        return False, "the question only names a place or a code"
    return True, "a large document with a table of contents: a model picks the sections to read"


def _references(facts: DispatchFacts) -> tuple[bool, str]:
    if facts.follow_references:
        return True, "asked for: cross-references of the best passages are followed"
    if facts.reads_along:
        return True, "definitions and clauses that the best passages depend on are read along"
    return False, "following cross-references was not asked for"


def _cooccurrence(question: ParsedQuestion) -> tuple[bool, str]:
    if not question.keywords:
        return False, "the question has no keyword"
    if question.two_distinct_terms:
        return True, "keywords of one group only: a line needs two distinct terms"
    return True, "the question has primary and secondary keywords"


def _bm25(question: ParsedQuestion) -> tuple[bool, str]:
    if question.exact_codes:
        return True, f"exact codes: {', '.join(question.exact_codes)}"
    return False, "the question has no exact code"


def _pattern(question: ParsedQuestion) -> tuple[bool, str]:
    if question.section_references:
        return True, f"the question names {', '.join(r.text for r in question.section_references)}"
    if question.scope_filters.pages:
        return True, f"the question names page {', '.join(map(str, question.scope_filters.pages))}"
    if question.code_families:
        return True, f"{', '.join(question.code_families)} may head a family of codes"
    if question.document_fact:
        return (
            True,
            f"the question asks for the document's own {question.document_fact}, which its opening states",
        )
    aliases = [k.term for k in question.keywords if k.source == "dictionary"]
    if aliases:
        return True, f"the dictionary knows variants: {', '.join(aliases[:5])}"
    return False, "the question names no section, page, code family or known alias"


def _embedding(facts: DispatchFacts, chosen_any: bool) -> tuple[bool, str]:
    kind = "hybrid with section titles" if facts.has_usable_toc else "passages"
    if not facts.has_embedder:
        return False, "no embedder is configured"
    if not chosen_any:
        return True, f"no other method was chosen; {kind}"
    if facts.question.vocabulary_diverges:
        return True, f"the documents' vocabulary diverges from the question's; {kind}"
    return False, "other methods were chosen and the documents use the question's words"
