"""What the settings limit holds for every call of every strategy."""

from __future__ import annotations

import pytest

from arbitration.errors import LLMFailure
from arbitration.pipeline import arbitrate, detect
from arbitration.settings import EngineSettings
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.registry import STRATEGIES, get_strategy
from tests.arbitration.engine.makers import RETENTION_POLICY, FakeChat, HashEmbedder, make_store

ASK_A_MODEL = sorted(
    {name for name, strategy in STRATEGIES.items() if "chat" in strategy.requires} | {"r-flow"}
)


@pytest.mark.parametrize("strategy", ASK_A_MODEL)
def test_no_call_may_write_more_or_take_longer_than_the_settings_allow(strategy: str) -> None:
    embedder = HashEmbedder()
    store = make_store(RETENTION_POLICY, embedder=embedder)
    uncertain = {"rules_accept": 1.0, "rules_reject": 0.0}  # so that r-flow asks its verifier
    settings = EngineSettings(max_output_tokens=100, timeout_s=3.0, **uncertain)
    pool = detect(
        question="How long are audit records kept?", store=store, embedder=embedder, settings=settings
    )
    chat = FakeChat(
        lambda request: "Yes. So it says." if request.schema is None else LLMFailure("cut_off", "too long"),
        supports_logprobs=True,
        logprobs=lambda request: ({"Yes": -0.1, "No": -2.0},),
    )
    arbitrate(pool=pool, strategy=get_strategy(strategy), services=StrategyServices(chat=chat))

    assert chat.requests
    assert {request.max_output_tokens for request in chat.requests} == {100}
    assert max(request.timeout_s for request in chat.requests) <= 3.0
