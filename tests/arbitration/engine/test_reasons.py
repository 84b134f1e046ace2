"""Reasons in words: a lawyer can read them aloud."""

from __future__ import annotations

import re

import pytest

from arbitration.contracts import Role
from arbitration.documents import ParsedDocument
from arbitration.grounding import check_quotes
from arbitration.pipeline import Asked, ask
from arbitration.pool import WordMatch
from arbitration.questions.same_words import Term, new_terms
from arbitration.reasons import MOST_QUOTED, ReasonWriter
from tests.arbitration.engine.makers import (
    RETENTION_POLICY,
    HashEmbedder,
    SectionText,
    make_document,
    make_store,
)

#: What a reason must not say: detectors, ranks, rules, probabilities, ids.
MACHINE_WORDS = re.compile(
    r"\b(?:rank|bm25|embedding|cooccurrence|toc|rule \d|estimate|cosine|p =)|\d\.\d\d|\bl\d+_"
)

#: Sentences that name words, and the words.
ABOUT_WORDS = re.compile(r"(?:Mentions|Names|Says it|Menciona|Nombra|Lo dice)[^.]*\.")
QUOTED = re.compile(r"[“«]([^”»]+)[”»]")

LONG = make_document(
    SectionText(
        "4 Payment",
        (
            "Subject to the provisions of this part and to any right of retention that the Client may have, and",
            "notwithstanding clause 9, the Client shall pay every undisputed invoice within thirty days of its receipt",
            "by the accounts department.",
        ),
    ),
    SectionText("5 Penalties", ("Whoever pays late owes interest of 2 per cent.",)),
)


def asked(question: str, document: object = RETENTION_POLICY, strategy: str = "offline") -> Asked:
    embedder = HashEmbedder()
    store = make_store(document, embedder=embedder)  # type: ignore[arg-type]
    return ask(question=question, store=store, embedder=embedder, strategy=strategy)


@pytest.mark.parametrize("strategy", ["offline", "r-flow"])
@pytest.mark.parametrize(
    "question",
    [
        "How long are audit records kept?",
        "What are the retention periods?",
        "¿Cuánto tiempo se conservan los registros?",
    ],
)
def test_no_reason_speaks_of_the_machine_and_each_says_what_stands_there(
    question: str, strategy: str
) -> None:
    found = asked(question, strategy=strategy)
    texts = {c.candidate_id: c.text for c in found.audit.candidates}
    for candidate in found.audit.candidates:
        reason = candidate.reason or ""
        assert not MACHINE_WORDS.search(reason)
        (quote, *_) = check_quotes(reason, [texts[candidate.candidate_id]]).quotes
        assert quote.status in {"verified", "repaired"}


def test_a_value_that_is_asked_for_is_named_where_it_stands_and_missed_where_it_does_not() -> None:
    reasons = {
        c.section_title: c.reason or "" for c in asked("How long are audit records kept?").audit.candidates
    }
    assert reasons["2 Retention periods"].endswith("Gives a period or date.")
    assert reasons["2 Retention periods"].startswith("States “Audit records are kept for seven years")
    assert "but not “audit”" in reasons["1 Purpose"]
    assert reasons["1 Purpose"].endswith("Gives no period or date.")


def test_a_long_sentence_is_quoted_where_it_answers() -> None:
    best = asked("Within how many days must the Client pay an invoice?", LONG).audit.candidates[0]
    (quote,) = re.findall("“([^”]{30,})”", best.reason or "")
    assert len(quote.replace("…", "").split()) <= MOST_QUOTED
    assert check_quotes(best.reason or "", [best.text]).all_stand
    assert "thirty days" in quote
    assert best.role is Role.PRIMARY


def test_words_that_only_ask_are_not_missed() -> None:
    for candidate in asked("How long are audit records kept?").audit.candidates:
        assert "“long”" not in (candidate.reason or "")


def test_a_spanish_question_has_spanish_reasons() -> None:
    best = asked("¿Cuánto tiempo se conservan los registros de auditoría?").audit.candidates[0]
    assert (best.reason or "").startswith("Dice «") or (best.reason or "").startswith("Establece «")
    assert "pero no" not in (best.reason or "")  # an English text is not blamed for lacking Spanish words


def told_words(asking: str, document: ParsedDocument, document_language: str) -> list[list[Term]]:
    """The words that each sentence on words names, each in the language of the document."""
    reasons = [c.reason or "" for c in asked(asking, document).audit.candidates]
    sentences = [found for reason in reasons for found in ABOUT_WORDS.findall(reason)]
    return [[Term(word, document_language) for word in QUOTED.findall(one)] for one in sentences]


@pytest.mark.parametrize(
    ("question", "lines", "language"),
    [
        (
            "¿Qué datos del cliente se conservan?",
            ("The client keeps client data, and data of clients.",),
            "en",
        ),
        ("What client access does the client keep?", ("El cliente conserva el acceso del cliente.",), "es"),
        ("Who may access client data, and is access logged?", ("Accesses by a client are rare.",), "en"),
    ],
)
def test_a_sentence_names_no_word_twice_in_any_form_or_language(
    question: str, lines: tuple[str, ...], language: str
) -> None:
    document = make_document(SectionText("1 Scope", lines), language=language)
    told = told_words(question, document, language)
    assert told
    for terms in told:
        assert new_terms(terms) == terms


def test_the_same_word_is_mentioned_and_not_called_other_words() -> None:
    match = WordMatch(asked="trabajo", met="trabajo", cosine=1.0, weight=0.5)
    pool = asked("¿Cómo se conservan los registros?").pool
    candidate = pool.candidates[0].model_copy(update={"matched_keywords": (), "matched_words": (match,)})
    reason = ReasonWriter(pool).reason(candidate, Role.TANGENTIAL)
    assert "Menciona «trabajo»" in reason
    assert " por " not in reason


LIGHTHOUSE = make_document(
    SectionText(
        "3 Lamp",
        (
            "The keeper shall keep the lamp of the harbour clean and the glass of the lamp whole at all times.",
            "The keeper shall, where the council has not agreed to a later day in writing, fill the lamp by",
            "May 30, 2031.",
        ),
    ),
    SectionText(
        "4 Law", ("The U.S. Harbour Act governs the oil of the lamp.", "The U.S. Coast Guard inspects it.")
    ),
    SectionText(
        "5 Lamps a pier",
        ("Piers 10, 20 and 30 are lit all year.", "A keeper of pier 20 is given five (5) lamps."),
    ),
)


def best_reason(question: str, document: ParsedDocument = LIGHTHOUSE) -> str:
    return asked(question, document).audit.candidates[0].reason or ""


def test_the_sentence_with_the_value_asked_for_is_quoted_and_its_date_whole() -> None:
    reason = best_reason("By when must the keeper fill the lamp of the harbour?")
    assert "May 30, 2031”" in reason


def test_a_sentence_is_not_quoted_from_the_middle_of_a_name() -> None:
    assert "“The U.S. Harbour Act governs the oil" in best_reason("Which act governs oil?")


def test_the_sentence_that_counts_what_is_asked_for_is_quoted() -> None:
    assert "five (5) lamps" in best_reason("How many lamps does a keeper of pier 20 get?")


def test_a_clause_whose_name_is_its_sentence_is_no_heading() -> None:
    meaning = "1.4 “Lamp” means any light that the keeper tends by night."
    reason = best_reason(
        "What is a lamp?", make_document(SectionText(meaning, ()), SectionText("2 Oil", ("-",)))
    )
    assert "It is a heading and no more." not in reason
    title = best_reason(
        "What is said of lamps?", make_document(SectionText("1 Lamps", ()), SectionText("2 Oil", ("-",)))
    )
    assert "It is a heading and no more." in title


def test_quotation_marks_in_a_quotation_are_single() -> None:
    document = make_document(
        SectionText("1 Terms", ('"Oil" and the word "Lamp" mean what the keeper says.',))
    )
    assert "“‘Oil’ and the word ‘Lamp’ mean" in best_reason("What does lamp mean?", document)


def test_a_quotation_shows_most_of_the_question_not_one_word_of_it_twice() -> None:
    words = "The keeper may retain a fair number of copies of the log and of the drawings that"
    document = make_document(
        SectionText(
            "6 Log", (f"{words} belong to the tower (the “Tower Copies”, and other copies of such copies).",)
        )
    )
    assert "“The keeper may retain a fair number of copies" in best_reason(
        "May the keeper retain copies?", document
    )
