"""What is lost on the way is found again: killed workers, a broker that is down."""

from __future__ import annotations

import pytest

from tests.fake_llm.script import Latency
from tests.integration.asking import ask, assert_each_verdict_once, ended, status
from tests.product import RunningProduct, eventually

pytestmark = pytest.mark.integration


def test_a_run_survives_the_kill_of_its_worker(product: RunningProduct) -> None:
    product.fake.reset()
    product.fake.slow(Latency(fixed_ms=8000, per_prompt_token_ms=0, per_completion_token_ms=0))
    run = ask(product.client("analyst"), "How long are access records kept?", strategy="arbiter")
    eventually(lambda: status(product, run) == "arbitrating", what="the model is being asked")
    old = product.kill("questions")
    product.fake.reset()
    assert ended(product, run) == "done"
    assert product.pid("questions") != old
    assert_each_verdict_once(product, run)


def test_a_question_asked_while_the_broker_is_down_runs_when_it_is_back(product: RunningProduct) -> None:
    client = product.client("analyst")
    old = product.kill("valkey")
    run = ask(client, "Who approves exceptions to the policy?")
    assert ended(product, run) == "done"
    assert product.pid("valkey") != old
    assert_each_verdict_once(product, run)


def test_the_chain_is_whole_after_all_that(product: RunningProduct) -> None:
    checked = product.manage("verify_audit", "--json")
    assert checked.returncode == 0, checked.stderr
    assert '"ok": true' in checked.stdout
