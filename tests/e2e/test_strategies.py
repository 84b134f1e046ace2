"""Strategies keep their word when the model does not: from the command line, and on the page that people read.

One made handbook with more candidates than one call holds; the fake model says No to everything, has its replies
cut off, and fails.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from arbitration.strategies.arbiter import MOST_IN_A_CALL
from tests.e2e.browser import WORK
from tests.e2e.conftest import Visit
from tests.product import RunningProduct

QUESTION = "How long are audit records and inspection logs kept?"
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
for role in ("reviewer", "analyst"):
    Membership.objects.get_or_create(
        user=User.objects.get(email=f"{{role}}@demo.example"),
        collection=Collection.objects.get(slug="{SLUG}"),
        defaults={{"role": role}},
    )
"""
#: Of one run: a candidate's id, its role, what decided, and whether a person must.
_VERDICTS = """
SELECT c.candidate_id, v.role, v.decided_by_kind, v.needs_person
FROM questions_verdict v JOIN questions_candidate c ON c.id = v.candidate_id WHERE c.run_id = %s
"""
#: A pool that one call of the arbiter cannot hold.
LARGE = 60


def handbook() -> str:
    """Some sections speak of the question in their lines, others in their titles alone or in other words."""
    lines = (f"## {n} Part\n\nAudit records of kind {n} are kept {n} years.\n" for n in range(1, 61))
    titles = (f"## {n} Audit records, form {n}\n\nForm {n} hangs on wall {n}.\n" for n in range(61, 121))
    others = (f"## {n} Shelf\n\nInspection logs of shelf {n} stay for {n} months.\n" for n in range(121, 161))
    return "# Handbook\n\n" + "\n".join([*lines, *titles, *others])


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


def asked_in_browser(visit: Visit, strategy: str, **settings: str) -> tuple[Page, int]:
    """The analyst's page of a run that has ended, and the run's number."""
    page = visit("analyst").go(f"/ask/?collection={SLUG}")
    page.get_by_label("Question").fill(QUESTION)
    page.get_by_text("Advanced", exact=True).click()
    page.get_by_label("Strategy").select_option(strategy)
    for label, value in settings.items():
        page.get_by_label(label.replace("_", " ")).fill(value)
    page.get_by_label("Ignore earlier answers").check()
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("section.answer")).to_be_visible(timeout=WORK)
    return page, int(re.findall(r"/runs/(\d+)/", page.url)[0])


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
    page, run = asked_in_browser(visit, "consensus", Passages_judged="10")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    rows = product.rows(_VERDICTS, run)
    assert {role for _, role, _, _ in rows} == {"discarded"}
    assert Counter(kind for _, _, kind, _ in rows)["llm"] == 10


def test_replies_that_are_cut_off_leave_hardly_a_candidate_undecided(
    product: RunningProduct, visit: Visit, collection: str
) -> None:
    product.fake.cut_off_at(1500)
    value = asked(product, collection, "arbiter")
    candidates = len(value["audit"]["provenances"])
    assert candidates >= LARGE > MOST_IN_A_CALL
    assert len(value["audit"]["undecided_ids"] or []) <= 0.05 * candidates
    cut = "SELECT count(*) FROM questions_llmcall WHERE run_id = %s AND outcome = 'cut_off'"
    assert product.rows(cut, value["run_id"])[0][0] >= 1
    page, run = asked_in_browser(visit, "arbiter")
    expect(page.get_by_text("Decided without the language model", exact=True)).to_have_count(0)
    expect(page.locator(".roles .is-primary").first).to_be_visible()
    roles = [role for _, role, _, _ in product.rows(_VERDICTS, run)]
    assert len(roles) >= LARGE
    assert roles.count(None) <= 0.05 * len(roles)


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
    page, run = asked_in_browser(visit, "arbiter")
    shown = {name: role for name, role, _, _ in product.rows(_VERDICTS, run)}
    assert {name: shown[name] for name in clear} == clear
    expect(page.get_by_text("Decided without the language model", exact=True)).to_be_visible()
    # By now the calls before have failed too often for another try.
    expect(page.get_by_text(re.compile("Its server failed|It failed too often just before"))).to_be_visible()


def test_the_plan_is_shown_before_a_question_is_asked(visit: Visit) -> None:
    page = visit("analyst").go("/ask/?collection=demo")
    page.get_by_text("Advanced", exact=True).click()
    page.get_by_label("Strategy").select_option("consensus")
    expect(page.get_by_text("at most 42 calls")).to_be_visible()
    page.get_by_label("Passages judged").fill("10")
    page.get_by_label("Passages judged").press("Tab")
    expect(page.get_by_text("at most 22 calls")).to_be_visible()
