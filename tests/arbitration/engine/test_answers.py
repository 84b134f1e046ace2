"""The extractive answer: whole sentences, and in words which of two texts is in force."""

from __future__ import annotations

import pytest

from arbitration.answers import Answer
from arbitration.contracts import Role
from arbitration.documents import ParsedDocument
from arbitration.pipeline import Asked, arbitrate, ask, write_answer
from arbitration.pool import CandidatePool
from arbitration.strategies.registry import get_strategy
from tests.arbitration.engine.makers import HashEmbedder, SectionText, make_document, make_store
from tests.arbitration.engine.test_interaction import ByMeaning

RENT = "Within how many days must the tenant pay the rent?"
LEASE = make_document(
    SectionText("GARDEN LEASE AGREEMENT", ("Signed on 3 May 2021 by Mill House and Ada Ferrer.",)),
    SectionText(
        "4. RENT", ("4.2 Payment. The tenant shall pay the rent within thirty (30) days of the invoice.",)
    ),
)
CHANGE = make_document(
    SectionText(
        "Amendment No. 2 to the Garden Lease Agreement", ("This Amendment takes effect on 1 March 2023.",)
    ),
    SectionText(
        "1 Rent (clause 4.2)",
        (
            "Clause 4.2 of the Agreement is deleted and replaced by the following:",
            "4.2 Payment. The tenant shall pay the rent within forty-five (45) days of the invoice.",
        ),
    ),
)


def asked(question: str, *documents: ParsedDocument) -> Asked:
    embedder = HashEmbedder()
    return ask(question=question, store=make_store(*documents, embedder=embedder), embedder=embedder)


def texts(answer: Answer) -> list[str]:
    return [sentence.text for sentence in answer.sentences]


def test_the_text_in_force_answers_and_the_other_is_told_beside_it() -> None:
    answer = asked(RENT, LEASE, CHANGE).answer
    assert texts(answer)[0] == "The tenant shall pay the rent within forty-five (45) days of the invoice."
    assert not any("thirty" in text for text in texts(answer))
    (told,) = answer.differences
    assert told.headline == "Two texts differ; the later one is in force"
    assert told.statement == (
        "“Amendment No. 2 to the Garden Lease Agreement”, in force from 1 March 2023, says forty-five (45) days; "
        "4.2 of “GARDEN LEASE AGREEMENT” says thirty (30) days."
    )
    assert told.in_force is not None
    assert told.replaced is not None
    assert [told.in_force.citations[0].document_id, told.replaced.citations[0].document_id] == ["d2", "d1"]


def test_no_date_is_made_up_where_the_texts_state_none() -> None:
    undated = make_document(
        SectionText("Amendment No. 2 to the Garden Lease Agreement", ("Signed by both on 9 June 2022.",)),
        SectionText(
            "1 Rent (clause 4.2)",
            (
                "Clause 4.2 of the Agreement is replaced by the following:",
                "4.2 Payment. The tenant shall pay the rent within forty-five (45) days of the invoice.",
            ),
        ),
    )
    (told,) = asked(RENT, LEASE, undated).answer.differences
    assert told.statement.startswith(
        "“Amendment No. 2 to the Garden Lease Agreement” says forty-five (45) days;"
    )
    assert "2022" not in told.statement


def test_texts_that_differ_in_more_than_a_figure_are_quoted() -> None:
    old = make_document(
        SectionText("Key Policy", ("Effective 1 May 2019",)),
        SectionText("Spare keys", ("The porter keeps every spare key of the house in a drawer.",)),
    )
    new = make_document(
        SectionText("Key Policy", ("Effective 1 May 2022",)),
        SectionText("Spare keys", ("The porter keeps every spare key of the house in a locked safe.",)),
    )
    (told,) = asked("Where does the porter keep spare keys?", old, new).answer.differences
    assert told.statement == (
        "“Key Policy”, in force from 1 May 2022, says: “The porter keeps every spare key of the house in a locked "
        "safe.” “Key Policy” says: “The porter keeps every spare key of the house in a drawer.”"
    )


def test_one_text_alone_differs_from_nothing() -> None:
    assert asked(RENT, LEASE).answer.differences == ()


def test_a_text_that_people_discarded_is_not_told_of() -> None:
    found = asked(RENT, LEASE, CHANGE)
    verdicts = tuple(
        verdict.model_copy(update={"role": Role.DISCARDED})
        if verdict.candidate_id.startswith("d1")
        else verdict
        for verdict in found.decision.verdicts
    )
    decision = found.decision.model_copy(update={"verdicts": verdicts})
    assert write_answer(pool=found.pool, decision=decision).differences == ()


def test_a_text_that_is_over_is_said_to_be_over() -> None:
    over = make_document(
        SectionText("Key Policy", ("Status: withdrawn",)),
        SectionText("Spare keys", ("The porter keeps every spare key of the house in a drawer.",)),
    )
    (told,) = asked("Where does the porter keep spare keys?", over).answer.differences
    assert (told.kind, told.headline, told.in_force) == ("ended", "This text is no longer in force", None)
    assert "no text that follows it was found" in told.statement


@pytest.mark.parametrize(
    ("lines", "first"),
    [
        # Half a sentence from the page before is no answer where a whole one is there.
        (
            (
                "boat hire must be paid to the boat keeper.",
                "The boat hire costs nine crowns and is paid in cash.",
            ),
            "The boat hire costs nine crowns and is paid in cash.",
        ),
        # A heading and an introduction say nothing by themselves.
        (
            (
                "3.1 Boat hire and payment.",
                "The clause on boat hire is replaced by the following:",
                "3.1 Boat fare.",
                "Guests pay for boat hire at the desk.",
            ),
            "Guests pay for boat hire at the desk.",
        ),
        # "No. 4" ends no sentence.
        (
            ("Guests pay for boat hire at desk No. 4 in the hall.",),
            "Guests pay for boat hire at desk No. 4 in the hall.",
        ),
    ],
)
def test_only_whole_sentences_answer(lines: tuple[str, ...], first: str) -> None:
    document = make_document(SectionText("3 Boats", lines), SectionText("4 Lamps", ("Lamps go out at ten.",)))
    answer = asked("How is boat hire paid?", document).answer
    assert texts(answer)[0] == first
    assert set(texts(answer)) <= {first}


def test_what_is_no_sentence_answers_where_nothing_else_does() -> None:
    document = make_document(SectionText("3 Boats", ("boat hire is paid to the keeper of boats",)))
    assert texts(asked("How is boat hire paid?", document).answer) == [
        "boat hire is paid to the keeper of boats"
    ]


def test_a_table_answers_with_the_row_that_is_asked_for() -> None:
    document = make_document(
        SectionText(
            "5 Repairs",
            (
                "Repairs are made within these limits:",
                "Kind of damage  In the house  In the garden",
                "Broken windows  2 hours  1 day",
                "Loose tiles  3 days  2 weeks",
            ),
        )
    )
    answer = asked("How quickly are broken windows repaired?", document).answer
    assert texts(answer) == [
        "Repairs are made within these limits: Broken windows 2 hours 1 day "
        "(Kind of damage, In the house, In the garden)"
    ]


def test_the_old_decisions_know_no_names() -> None:
    """A run that was decided before names were kept still tells of the difference."""
    found = asked(RENT, LEASE, CHANGE)
    plain = [
        one.model_copy(update={"in_force_name": "", "replaced_name": "", "since": ""})
        for one in found.pool.precedence
    ]
    decision = arbitrate(
        pool=found.pool.model_copy(update={"precedence": tuple(plain)}), strategy=get_strategy("offline")
    )
    (told,) = write_answer(pool=found.pool, decision=decision).differences
    assert told.statement == "The text in force says forty-five (45) days; 4.2 says thirty (30) days."


def test_a_title_that_begins_its_own_sentence_stays() -> None:
    document = make_document(
        SectionText("Boat hire", ("Boat hire is paid to the keeper of boats.",)), heading_lines=False
    )
    assert texts(asked("How is boat hire paid?", document).answer) == [
        "Boat hire is paid to the keeper of boats."
    ]


def test_a_question_for_a_count_is_led_by_the_sentence_that_counts() -> None:
    document = make_document(
        SectionText(
            "5 Lamps",
            (
                "Keepers of the lamps of piers 10, 20 and 30 are the only keepers of the harbour that get lamps.",
                "A keeper of pier 20 gets five (5) lamps.",
            ),
        )
    )
    store = make_store(document, embedder=ByMeaning())
    found = ask(question="How many lamps does the keeper of pier 20 get?", store=store, embedder=ByMeaning())
    assert found.pool.candidates[0].sentence_matches
    answer = found.answer
    assert texts(answer)[0] == "A keeper of pier 20 gets five (5) lamps."


@pytest.mark.parametrize(
    ("own", "around", "said"),
    [
        # A number in words at the end of a line, and its figure on the next one.
        ("The lamp of the harbour burns for seven", "{own}\n(7) nights. Then it rests.", "{own} (7) nights."),
        (
            "(7) nights of the lamp are free.",
            "The harbour burns for seven\n{own}",
            "The harbour burns for seven {own}",
        ),
        # A list that goes on in the next passage, and one whose next item is a sentence.
        (
            "The lamp is (i) lit; (ii) filled;",
            "{own}\nor (iii) cleaned. Then it rests.",
            "{own} or (iii) cleaned.",
        ),
        ("The lamp of the harbour is lit;", "{own}\nThe oil is paid.", "{own}"),
    ],
)
def test_a_sentence_that_a_passage_cuts_is_whole_in_the_answer(own: str, around: str, said: str) -> None:
    document = make_document(SectionText("5 Lamps", ("The lamp of the harbour burns.",)))
    found = asked("How long does the lamp of the harbour burn?", document)
    changes = {"anchor_text": own, "context_text": around.format(own=own), "sentence_matches": ()}
    (candidate,) = found.pool.candidates
    cut = candidate.model_copy(update={**changes, "anchor_lines": candidate.anchor_lines[:1]})
    pool = CandidatePool.model_validate({**dict(found.pool), "candidates": (cut,)})
    assert texts(write_answer(pool=pool, decision=found.decision)) == [said.format(own=own)]
