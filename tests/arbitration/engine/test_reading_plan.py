"""Reasoning over the table of contents, and cross-references followed on request."""

from __future__ import annotations

import json

import pytest

from arbitration.detection import detect
from arbitration.documents import ParsedDocument
from arbitration.errors import LLMFailure
from arbitration.pipeline import arbitrate
from arbitration.pool import CandidatePool
from arbitration.protocols import ChatRequest
from arbitration.settings import EngineSettings
from arbitration.strategies.registry import get_strategy
from tests.arbitration.engine.makers import FakeChat, SectionText, make_document, make_store

QUESTION = "Who pays when a visitor is hurt?"
#: The section that answers shares no word with the question.
ANSWER = "9 Liability"


def handbook() -> ParsedDocument:
    return make_document(
        *(SectionText(f"{n} Chapter {n}", (f"Rule {n} speaks of the garden.",)) for n in range(1, 8)),
        SectionText("8 Visitors", ("A visitor signs the book; see clause 9 for the rest.",), page=2),
        SectionText(ANSWER, ("The owner bears the damages of guests.",), page=2),
        SectionText("9.1 Limits", ("At most one thousand crowns are owed.",), level=2, page=2),
    )


def found(chat: FakeChat | None = None, **settings: object) -> CandidatePool:
    return detect(
        question=QUESTION,
        store=make_store(handbook()),
        settings=EngineSettings(concurrent=False, toc_reasoning_sections=5).model_copy(update=settings),
        chat=chat,
    )


def by_title(pool: CandidatePool) -> dict[str, list[str]]:
    return {candidate.section_title or "": candidate.methods for candidate in pool.candidates}


def picks(*ids: str) -> FakeChat:
    answer = json.dumps({"reasoning": "Who pays is a matter of liability.", "section_ids": list(ids)})
    return FakeChat(lambda request: answer)


class TestTocReasoning:
    def test_a_picked_section_is_read_whole_and_says_why(self) -> None:
        assert ANSWER not in by_title(found())
        pool = found(picks("s9"))
        assert "toc_reasoning" in by_title(pool)[ANSWER]
        assert "toc_reasoning" in by_title(pool)["9.1 Limits"], "what lies below a picked section is read too"
        candidate = next(c for c in pool.candidates if c.section_title == ANSWER)
        assert "matter of liability" in candidate.why["toc_reasoning"]

    def test_the_model_sees_titles_and_counts_and_no_text(self) -> None:
        asked: list[ChatRequest] = []

        def answer(request: ChatRequest) -> str:
            asked.append(request)
            return json.dumps({"reasoning": "", "section_ids": []})

        found(FakeChat(answer))
        (request,) = asked
        assert "s8 | 8 Visitors | pages 2-2 | 2 lines" in request.user
        assert "s1 | 1 Chapter 1 | pages 1-1 | 0 lines" in request.user
        assert "signs the book" not in request.user

    def test_ids_that_do_not_exist_are_recorded_and_ignored(self) -> None:
        pool = found(picks("s99", "s9", "s9", "__"))
        assert any("2 sections that do not exist" in note for note in pool.notes)
        assert "toc_reasoning" in by_title(pool)[ANSWER]

    @pytest.mark.parametrize("outcome", ["timeout", "budget", "refused", "wrong_schema"])
    def test_a_model_that_fails_costs_the_other_detectors_nothing(self, outcome: str) -> None:
        def fail(request: ChatRequest) -> str:
            raise LLMFailure(outcome, "no answer")

        pool = found(FakeChat(fail))
        (failed,) = [run for run in pool.outcomes if run.method == "toc_reasoning"]
        assert (failed.status, failed.anchors) == ("failed", 0)
        assert "no answer" in (failed.error or "")
        assert by_title(pool) == by_title(found())

    @pytest.mark.parametrize(
        ("settings", "chat", "reason"),
        [
            ({}, None, "no language model"),
            ({"toc_reasoning": False}, picks(), "switched off"),
            ({"toc_reasoning_sections": 11}, picks(), "fewer than 11 sections"),
        ],
    )
    def test_where_it_does_not_run_the_reason_is_on_record(
        self, settings: dict[str, object], chat: FakeChat | None, reason: str
    ) -> None:
        assert reason in found(chat, **settings).plan.skipped_reasons["toc_reasoning"]


class TestReferences:
    def test_a_clause_that_a_passage_names_becomes_a_candidate(self) -> None:
        pool = found(follow_references=True)
        candidate = next(c for c in pool.candidates if c.section_title == ANSWER)
        assert candidate.methods == ["references"]
        assert "refers to clause 9" in candidate.why["references"]

    def test_a_mere_mention_is_followed_only_when_asked_for(self) -> None:
        assert ANSWER not in by_title(found())

    def test_nothing_is_followed_where_it_is_switched_off(self) -> None:
        pool = found(references=False, definitions=False)
        assert ANSWER not in by_title(pool)
        assert "not asked for" in pool.plan.skipped_reasons["references"]

    def test_every_candidate_still_gets_a_verdict(self) -> None:
        pool = found(picks("s9"), follow_references=True)
        decision = arbitrate(pool=pool, strategy=get_strategy("offline"))
        assert {v.candidate_id for v in decision.verdicts} == {c.candidate_id for c in pool.candidates}
        survivors = [v.candidate_id for v in decision.verdicts if v.role and v.role.value == "primary"]
        reached = {c.candidate_id for c in pool.candidates if c.section_title == ANSWER}
        assert not reached & set(survivors), "to be referred to is no evidence"

    def test_other_settings_are_another_question(self) -> None:
        assert EngineSettings().digest() != EngineSettings(follow_references=True).digest()
