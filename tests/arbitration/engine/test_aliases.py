"""What a confirmed passage that no keyword found teaches: which phrases are paired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arbitration.aliases import AliasProposal, propose_alias
from arbitration.questions.dictionary import MappingDictionary
from arbitration.questions.parser import parse_question


def frequency(**hits: int) -> object:
    """A document in which each phrase stands in so many passages, unnamed ones in none."""

    def count(phrases: Sequence[str]) -> Mapping[str, int]:
        return {phrase: hits.get(phrase.replace(" ", "_").lower(), 0) for phrase in phrases}

    return count


def proposed(
    question: str, *, evidence: str = "", title: str = "", **options: object
) -> AliasProposal | None:
    values = {"language": "en", "frequency": frequency()} | options
    return propose_alias(question=question, evidence=evidence, section_title=title, **values)  # type: ignore[arg-type]


def test_the_title_of_the_section_is_the_alias() -> None:
    found = proposed("What happens at staff departure?", title="7.2 Termination of employment")
    assert found == AliasProposal("staff departure", "termination", "en", is_translation=False)


def test_numbers_of_titles_are_no_part_of_it_and_capitals_are_not_a_code() -> None:
    found = proposed("How are telephone logs held?", title="4. DATA RETENTION")
    assert found is not None
    assert found.variant == "data retention"


def test_without_a_telling_title_the_rarest_phrase_of_the_evidence_is_it() -> None:
    found = proposed(
        "How are telephone logs held?",
        title="12",
        evidence="Traffic data of the client are kept by the telephone service.",
        frequency=frequency(traffic_data=9, client=30, telephone_service=1),
    )
    assert found is not None
    assert found.variant == "telephone service"


def test_of_several_asked_phrases_the_one_unknown_to_the_document_is_paired() -> None:
    found = proposed(
        "What does the client do with telephone logs?",
        title="Traffic data",
        frequency=frequency(client=12, telephone_logs=0),
    )
    assert found is not None
    assert found.term == "telephone logs"


def test_a_title_in_the_words_of_the_question_teaches_nothing() -> None:
    assert (
        proposed(
            "How are telephone logs held?", title="Telephone logs", evidence="The telephone logs are held."
        )
        is None
    )


def test_a_document_in_spanish_gives_a_translation() -> None:
    found = proposed("What about staff departure?", title="Extinción del contrato", language="es")
    assert found is not None
    assert (found.variant, found.language, found.is_translation) == ("extinción", "es", True)


def test_the_proposed_term_is_one_that_the_parser_looks_up() -> None:
    question = "How long are the telephone logs of a client held?"
    found = proposed(question, title="Traffic data")
    assert found is not None
    parsed = parse_question(question, dictionary=MappingDictionary({found.term: [found.variant]}))
    assert [k.term for k in parsed.keywords if k.source == "dictionary"] == ["traffic data"]
