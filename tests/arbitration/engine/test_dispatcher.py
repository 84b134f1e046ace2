from __future__ import annotations

import pytest

from arbitration.dispatcher import ALWAYS, DispatchFacts, decide
from arbitration.pool import DispatchPlan
from arbitration.questions import parse_question


def facts(question: str, *, toc: bool = True, embedder: bool = True, diverges: bool = False) -> DispatchFacts:
    parsed = parse_question(question).model_copy(update={"vocabulary_diverges": diverges})
    return DispatchFacts(parsed, has_usable_toc=toc, has_embedder=embedder)


def chosen(plan: DispatchPlan) -> tuple[str, ...]:
    """The methods that run by a rule, without those that have none."""
    return tuple(method for method in plan.methods_run if plan.reasons[method] != ALWAYS[1])


def test_keywords_and_a_table_of_contents_choose_titles_and_cooccurrence() -> None:
    plan = decide(facts("How long are audit records kept?"))
    assert chosen(plan) == ("toc", "cooccurrence")
    assert plan.skipped_reasons == {
        "bm25": "the question has no exact code",
        "pattern": "the question names no section, page, code family or known alias",
        "embedding": "other methods were chosen and the documents use the question's words",
        "toc_reasoning": "no language model is configured for it",
        "references": "following cross-references was not asked for",
    }


def test_exact_codes_choose_bm25() -> None:
    assert "bm25" in decide(facts("What does PR.AC-1 require?")).methods_run


def test_diverging_vocabulary_chooses_embeddings() -> None:
    plan = decide(facts("How long are audit records kept?", diverges=True))
    assert "vocabulary diverges" in plan.reasons["embedding"]
    assert "hybrid" in plan.reasons["embedding"]


def test_nothing_else_chosen_leaves_embeddings_over_passages() -> None:
    plan = decide(facts("What is it?", toc=False))
    assert chosen(plan) == ("embedding",)
    assert "no other method" in plan.reasons["embedding"]


def test_without_a_table_of_contents_titles_are_skipped_with_the_reason() -> None:
    plan = decide(facts("How long are audit records kept?", toc=False))
    assert plan.skipped_reasons["toc"] == "no document in scope has a usable table of contents"


def test_a_bare_reference_is_looked_up_by_pattern_alone() -> None:
    assert chosen(decide(facts("Article 1 Section 8"))) == ("pattern",)


def test_forced_methods_run_alone() -> None:
    plan = decide(facts("How long are audit records kept?"), forced=("bm25",), second_opinions=("embedding",))
    assert plan.methods_run == ("bm25",)
    assert plan.reasons["bm25"] == "forced by the user"
    assert plan.skipped_reasons["toc"] == "not among the forced methods"


def test_second_opinions_run_and_say_so() -> None:
    plan = decide(facts("How long are audit records kept?"), second_opinions=("bm25", "embedding"))
    assert {"bm25", "embedding"} <= set(plan.methods_run)
    assert plan.reasons["bm25"].startswith("second opinion")


def test_no_embedder_no_embeddings_whatever_is_asked() -> None:
    for forced in ((), ("embedding",)):
        plan = decide(
            facts("What is it?", toc=False, embedder=False), forced=forced, second_opinions=("embedding",)
        )
        assert "embedding" not in plan.methods_run
        assert "no embedder" in plan.reasons["embedding"]


def test_every_method_has_a_reason_and_one_place() -> None:
    plan = decide(facts("What are the GOVERN outcomes on page 3?"))
    assert set(plan.methods_run) | set(plan.methods_skipped) == set(plan.reasons)
    assert not set(plan.methods_run) & set(plan.methods_skipped)


def test_a_method_without_a_rule_searches_for_every_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arbitration.dispatcher.METHODS", ("toc", "captions"))
    plan = decide(facts("What is it?", toc=False))
    assert plan.methods_run == ("captions",)
    assert plan.reasons["captions"] == "searches for every question"
