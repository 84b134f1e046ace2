"""Strategies keep their word when the model does not: from the command line, and on the page that people read.

One made handbook with more candidates than one call holds; the fake model says No to everything, has its replies
cut off, and fails.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from arbitration.strategies.arbiter import MOST_IN_A_CALL
from tests.e2e.conftest import Visit
from tests.product import RunningProduct

QUESTION = "How long are audit records kept?"
SLUG = "strategies"
_JOIN = f"""
from workbench.accounts.models import Membership, User
from workbench.documents.models import Collection
from workbench.review.policy import policy_set
policy_set(
    actor=User.objects.system(),
    collection=Collection.objects.get(slug="{SLUG}"),
    blind_share=0,
    second_share=0,
)
Membership.objects.get_or_create(
    user=User.objects.get(email="reviewer@demo.example"),
    collection=Collection.objects.get(slug="{SLUG}"),
    defaults={{"role": "reviewer"}},
)
"""


def handbook() -> str:
    """Some sections speak of the question in their lines, others in their titles alone."""
    lines = (f"## {n} Part\n\nAudit records of kind {n} are kept {n} years.\n" for n in range(1, 61))
    titles = (f"## {n} Audit records, form {n}\n\nForm {n} hangs on wall {n}.\n" for n in range(61, 121))
    return "# Handbook\n\n" + "\n".join([*lines, *titles])


@pytest.fixture(scope="module")
def collection(product: RunningProduct, tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("handbook") / "handbook.md"
    path.write_text(handbook())
    ingested = product.manage("ingest", str(path), "--collection", SLUG, "--json")
    assert json.loads(ingested.stdout)[0]["status"] == "ready", ingested.stderr
    joined = product.manage("shell", "-c", _JOIN)
    assert joined.returncode == 0, joined.stderr
    return SLUG


@pytest.fixture(autouse=True)
def _behaved_again(product: RunningProduct) -> Iterator[None]:
    yield
    product.fake.reset()


def asked(product: RunningProduct, collection: str, strategy: str, *options: str) -> dict[str, Any]:
    """What ``manage.py ask`` prints."""
    command = ("ask", QUESTION, "--collection", collection, "--strategy", strategy, "--no-cache", "--json")
    done = product.manage(*command, *options)
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def deciders(value: dict[str, Any]) -> Counter[str]:
    return Counter(row["decided_by"]["kind"] for row in value["audit"]["provenances"])


def test_a_judge_that_says_no_to_everything_finds_nothing(
    product: RunningProduct, visit: Visit, collection: str
) -> None:
    product.fake.judge({}, default=-12.0)
    value = asked(product, collection, "consensus", "--option", "k=10")
    assert value["result"]["not_found"]
    assert value["result"]["not_found_reason"].startswith("all_discarded")
    assert value["result"]["needs_person"]
    assert deciders(value)["llm"] == 10
    page = visit("reviewer").go(f"/runs/{value['run_id']}/")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()


def test_replies_that_are_cut_off_leave_hardly_a_candidate_undecided(
    product: RunningProduct, visit: Visit, collection: str
) -> None:
    product.fake.cut_off_at(1500)
    value = asked(product, collection, "arbiter")
    candidates = len(value["audit"]["provenances"])
    assert candidates > MOST_IN_A_CALL
    assert len(value["audit"]["undecided_ids"] or []) <= 0.05 * candidates
    cut = "SELECT count(*) FROM questions_llmcall WHERE run_id = %s AND outcome = 'cut_off'"
    assert product.rows(cut, value["run_id"])[0][0] >= 1
    page = visit("reviewer").go(f"/runs/{value['run_id']}/")
    expect(page.get_by_text("Decided without the language model", exact=True)).to_have_count(0)
    expect(page.locator(".roles .is-primary").first).to_be_visible()


def test_an_endpoint_that_fails_leaves_no_clear_candidate_undecided(
    product: RunningProduct, visit: Visit, collection: str
) -> None:
    product.fake.fault("server_error")
    clear = {
        row["candidate_id"]: row["llm_role"]
        for row in asked(product, collection, "offline")["audit"]["provenances"]
        if row["llm_role"] in ("primary", "supporting", "discarded") and not row["needs_person"]
    }
    value = asked(product, collection, "arbiter")
    roles = {row["candidate_id"]: row["llm_role"] for row in value["audit"]["provenances"]}
    assert clear
    # The model reads no question either, so that the pools may differ by what it would have added: nothing here.
    assert {name: roles[name] for name in clear} == clear
    assert set(deciders(value)) <= {"fallback", "undecided"}
    page = visit("reviewer").go(f"/runs/{value['run_id']}/")
    expect(page.get_by_text("Decided without the language model", exact=True)).to_be_visible()
    expect(page.get_by_text("Its server failed.")).to_be_visible()


def test_the_plan_is_shown_before_a_question_is_asked(visit: Visit) -> None:
    page = visit("analyst").go("/ask/?collection=demo")
    page.get_by_text("Advanced", exact=True).click()
    page.get_by_label("Strategy").select_option("consensus")
    expect(page.get_by_text("at most 42 calls")).to_be_visible()
    page.get_by_label("Passages judged").fill("10")
    page.get_by_label("Passages judged").press("Tab")
    expect(page.get_by_text("at most 22 calls")).to_be_visible()
