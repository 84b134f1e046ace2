"""What was asked once is not computed twice, and whatever changes the answer asks again."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from django.db.models.functions import Now

from arbitration.adapters.breaker import forget_breakers
from arbitration.strategies.registry import STRATEGIES
from tests.integration.llm_scene import (
    CAPABILITIES,
    LLM_MARKS,
    LLM_STRATEGIES,
    CountingEmbedder,
    Installation,
)

pytest_plugins = ["tests.fake_llm.plugin", "tests.integration.llm_scene"]
pytestmark = LLM_MARKS


def calls(installation: Installation) -> int:
    return len(installation.fake.requests)


#: All that can run without a trained model.
EVERY_STRATEGY = sorted(name for name in STRATEGIES if "scorer" not in STRATEGIES[name].requires)


@pytest.mark.parametrize("strategy", EVERY_STRATEGY)
def test_the_same_question_again_makes_no_call_and_embeds_nothing(
    installation: Installation, strategy: str
) -> None:
    text = f"Which audit records are kept under {strategy}?"
    first = installation.ask(strategy, text=text, use_cache=True)
    if strategy in LLM_STRATEGIES and strategy != "r-flow":  # there the rules may be certain of everything
        assert calls(installation) > 0
    assert CountingEmbedder.texts
    made, CountingEmbedder.texts = calls(installation), []

    again = installation.ask(strategy, text=text, use_cache=True)
    assert again.pk == first.pk
    assert calls(installation) == made
    assert CountingEmbedder.texts == []


def test_an_alias_approved_between_asking_and_detection_belongs_to_the_key(
    installation: Installation,
) -> None:
    """The run searches with the alias, so only a question asked with the alias may be answered by it."""
    from workbench.synonyms.models import DictionaryEntry, EntryStatus

    text = "How long are audit papers kept?"
    run = installation.ask("offline", text=text, use_cache=True, finish=False)
    entry = DictionaryEntry.objects.create(
        collection=installation.cast.alpha,
        term="papers",
        variant="records",
        status=EntryStatus.APPROVED,
        proposed_by=installation.cast.admin,
        decided_by=installation.cast.admin,
        decided_at=Now(),
    )
    asked_with = run.cache_key
    run = installation.finish(run)
    assert run.cache_key not in ("", asked_with)

    assert installation.ask("offline", text=text, use_cache=True).pk == run.pk
    entry.delete()
    without = installation.ask("offline", text=text, use_cache=True)
    assert without.pk != run.pk


def test_a_document_that_comes_between_the_stages_leaves_the_run_without_a_key(
    installation: Installation,
) -> None:
    from workbench.documents.services import index_epoch_bump
    from workbench.runs.execution import run_answer, run_arbitrate, run_detect
    from workbench.runs.services import question_ask

    run = question_ask(
        actor=installation.cast.analyst,
        collection=installation.cast.alpha,
        text="Who lifts a hold?",
        strategy="offline",
    ).run
    run_detect(run_id=run.pk)
    index_epoch_bump(collection_ids=[installation.cast.alpha.pk])
    run_arbitrate(run_id=run.pk)
    run_answer(run_id=run.pk)

    run.refresh_from_db()
    assert run.status == "done"
    assert run.cache_key == ""


@pytest.mark.parametrize("fault", ["hang", "rate_limit", "drop"])
def test_a_run_that_got_no_answer_is_not_handed_out_again(installation: Installation, fault: str) -> None:
    text = f"Which audit records outlast a {fault}?"
    installation.fake.fault(fault)
    failed = installation.ask("arbiter", text=text, use_cache=True)
    installation.fake.reset()
    forget_breakers()  # a dropped connection fails so fast that the endpoint is left alone meanwhile

    again = installation.ask("arbiter", text=text, use_cache=True)
    assert again.pk != failed.pk
    assert again.candidates.filter(verdict__decided_by_kind="llm").exists()


@pytest.mark.parametrize("strategy", ["arbiter", "r-flow"])
def test_another_model_answers_anew(installation: Installation, strategy: str, settings) -> None:
    from workbench.runs import gateway
    from workbench.runs.models import LLMEndpoint

    text = f"Which audit records does another model know under {strategy}?"
    first = installation.ask(strategy, text=text, use_cache=True)
    settings.OPENAI_MODEL = f"other-model-{strategy}"
    LLMEndpoint.objects.create(
        name=settings.OPENAI_MODEL,
        base_url=gateway.endpoint_name(),
        model=settings.OPENAI_MODEL,
        capabilities=asdict(CAPABILITIES),
    )
    assert installation.ask(strategy, text=text, use_cache=True).pk != first.pk


def test_a_probe_goes_through_the_ledger_and_is_asked_for_once(installation: Installation, settings) -> None:
    from workbench.runs.models import LLMCall, LLMEndpoint

    settings.OPENAI_MODEL = "never-probed"
    run = installation.ask("arbiter")
    assert LLMEndpoint.objects.filter(model="never-probed").count() == 1
    assert LLMCall.objects.filter(run=run, stage="probe").count() >= 4
    assert not LLMCall.objects.filter(run=installation.ask("arbiter"), stage="probe").exists()


def test_where_models_are_stopped_nothing_is_probed(installation: Installation, settings) -> None:
    from workbench.runs.models import LLMControl

    settings.OPENAI_MODEL = "probed-by-nobody"
    LLMControl.objects.update_or_create(pk=1, defaults={"is_stopped": True, "stop_reason": "incident"})
    try:
        run = installation.ask("arbiter")
    finally:
        LLMControl.objects.filter(pk=1).update(is_stopped=False, stop_reason="")
    assert run.status == "done"
    assert calls(installation) == 0


def test_an_endpoint_that_keeps_failing_is_reported_until_it_answers(installation: Installation) -> None:
    from workbench.runs.gateway import endpoint_trouble

    installation.fake.fault("server_error")
    installation.ask("consensus")
    trouble = endpoint_trouble()
    assert trouble is not None
    assert trouble.outcome == "server_error"

    installation.fake.reset()
    forget_breakers()  # the pause is over
    installation.ask("arbiter")
    assert endpoint_trouble() is None
