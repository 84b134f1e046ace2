"""Every strategy in the real worker, asking over HTTP a model that fails in every way (trust.md).

Web server, broker, Celery worker, database and ledger are those of ``make run``; only the model is a fake. For each
fault a question is asked under all strategies at once. ``test_llm_faults.py`` tries more cases in one process, so that
here one fault of each kind is tried in the ordinary run, and all of them in ``make test-all``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import httpx2 as httpx
import pytest

from tests.integration.asking import ask, assert_each_verdict_once, ended, why_failed
from tests.integration.llm_faults import (
    ABOUT_IDS,
    BENT,
    MARGIN_MS,
    NOT_CHARGED,
    SPEAK_OF_IDS,
    TIMEOUT_S,
    UNANSWERED,
)
from tests.product import RunningProduct, eventually

pytestmark = pytest.mark.integration

STRATEGIES = ("arbiter", "r-flow", "consensus", "pointwise", "multi-criteria", "multi-criteria-2")
QUESTION = "How long are audit records kept?"
#: Stands in one passage alone, which is in nobody's question.
MARK = "cellar seven"
#: The rules are sure of most sections; of "Storage" they are not, so that ``r-flow`` asks its verifier.
POLICY = """# Audit policy

## Purpose

This policy says how audit records are kept.

## Retention

Audit records are kept for seven years from the day of the audit.

## Storage

Audit records of older branches lie in cellar seven.

## Payments

Payment slips are kept for ten years.

## Holds

A legal hold stops every deletion of records.

## Branches

Each branch sends its audit report to the head office.

## Canteen

Lunch is served from noon. Guests pay at the counter.
"""


def one_of_a_kind(faults: Iterable[str], *often: str) -> list[Any]:
    """Parameters: these faults in the ordinary run, and all."""
    return [pytest.param(name, marks=() if name in often else pytest.mark.long) for name in faults]


@dataclass(frozen=True)
class Seen:
    """What the database says of a run that has ended."""

    product: RunningProduct
    run: int

    @cached_property
    def row(self) -> dict[str, Any]:
        """The run's own record."""
        names = ("strategy", "not_found", "needs_person", "notes", "unknown_ids", "repeated_ids", "stages")
        return dict(zip(names, self.product.rows(
            f"SELECT {', '.join(names)} FROM questions_run WHERE id = %s", self.run
        )[0], strict=True))  # fmt: skip

    @cached_property
    def verdicts(self) -> dict[str, dict[str, Any]]:
        """Each candidate's verdict."""
        rows = self.product.rows(
            """SELECT c.candidate_id, t.anchor, v.role, v.decided_by_kind, v.needs_person, v.reason
               FROM questions_candidate c JOIN questions_verdict v ON v.candidate_id = c.id
               JOIN questions_candidatetext t ON t.candidate_id = c.id WHERE c.run_id = %s""",
            self.run,
        )
        names = ("anchor", "role", "kind", "needs_person", "reason")
        return {identity: dict(zip(names, values, strict=True)) for identity, *values in rows}

    @cached_property
    def calls(self) -> list[dict[str, Any]]:
        """The run's lines in the ledger."""
        names = ("stage", "outcome", "attempt", "latency_ms", "prompt_name", "cost")
        rows = self.product.rows(
            f"SELECT {', '.join(names)} FROM questions_llmcall WHERE run_id = %s ORDER BY id", self.run
        )
        return [dict(zip(names, row, strict=True)) for row in rows]

    @property
    def decided(self) -> dict[str, tuple[str | None, str]]:
        """Role and kind of decider by candidate."""
        return {name: (verdict["role"], verdict["kind"]) for name, verdict in self.verdicts.items()}

    @property
    def by_model(self) -> list[str]:
        """Candidates that the model decided."""
        return [name for name, verdict in self.verdicts.items() if verdict["kind"] == "llm"]

    @property
    def outcomes(self) -> set[str]:
        """How its calls ended."""
        return {call["outcome"] for call in self.calls}

    def check(self) -> None:
        """Nothing is lost, invented or doubled, and who has no verdict waits for a person."""
        assert_each_verdict_once(self.product, self.run)
        pool = self.product.rows("SELECT body FROM questions_runpool WHERE run_id = %s", self.run)[0][0]
        body = pool if isinstance(pool, dict) else json.loads(pool)
        assert {candidate["candidate_id"] for candidate in body["candidates"]} == set(self.verdicts)
        for verdict in self.verdicts.values():
            if verdict["role"] is None:
                assert verdict["kind"] == "undecided"
                assert verdict["needs_person"]
                assert verdict["reason"].startswith("no verdict:")
        for call in self.calls:
            assert call["latency_ms"] < 1000 * TIMEOUT_S + MARGIN_MS


@pytest.fixture(scope="module")
def analyst(product: RunningProduct) -> httpx.Client:
    return product.client("analyst")


@pytest.fixture(scope="module")
def document(product: RunningProduct, analyst: httpx.Client) -> int:
    """A short document, read and ready."""
    sent = analyst.post(
        "/api/v1/documents/",
        data={"collection": "demo"},
        files={"file": ("audit-policy.md", POLICY.encode(), "text/markdown")},
    )
    assert sent.status_code == 201, sent.text
    key = int(sent.json()["id"])

    def is_ready() -> bool:
        (status,) = product.rows("SELECT status FROM documents_document WHERE id = %s", key)[0]
        return str(status) == "ready"

    eventually(is_ready, what="the document is ready")
    return key


@pytest.fixture
def under_every_strategy(product: RunningProduct, analyst: httpx.Client, document: int) -> Any:
    """Asks the question under all strategies at once and gives the runs, ended and checked, by strategy."""

    def asked() -> dict[str, Seen]:
        runs = {name: ask(analyst, QUESTION, strategy=name, document=document) for name in STRATEGIES}
        seen = {}
        for name, run in runs.items():
            assert ended(product, run) == "done", (name, why_failed(product, run))
            seen[name] = Seen(product, run)
            seen[name].check()
        return seen

    product.fake.reset()
    yield asked
    product.fake.reset()


@pytest.fixture(scope="module")
def quiet() -> dict[str, dict[str, tuple[str | None, str]]]:
    """What each strategy decides when nothing fails; filled by the first test."""
    return {}


def test_a_model_that_behaves_decides(under_every_strategy: Any, quiet: dict[str, Any]) -> None:
    for name, seen in under_every_strategy().items():
        assert seen.by_model, name
        assert seen.outcomes == {"ok"}
        quiet[name] = seen.decided


@pytest.mark.parametrize("fault", one_of_a_kind(UNANSWERED, "hang", "server_error"))
def test_without_an_answer_no_model_decides(
    product: RunningProduct, under_every_strategy: Any, fault: str
) -> None:
    product.fake.fault(fault, **({"retry_after": 0.2} if fault == "rate_limit" else {}))
    for name, seen in under_every_strategy().items():
        assert seen.by_model == [], name
        assert seen.calls, name
        assert seen.outcomes <= {UNANSWERED[fault], "timeout"}, name
        assert not seen.row["not_found"], "a failure proves nothing"
        assert seen.row["needs_person"], name
        assert any("failed" in note or "lost" in note for note in seen.row["notes"]), seen.row["notes"]
        if fault in NOT_CHARGED:
            assert sum(call["cost"] for call in seen.calls) == 0


@pytest.mark.parametrize("fault", one_of_a_kind(BENT, "not_json"))
def test_a_bent_answer_is_no_verdict(product: RunningProduct, under_every_strategy: Any, fault: str) -> None:
    product.fake.fault(fault)
    for name, seen in under_every_strategy().items():
        assert seen.by_model == [], name
        assert not seen.row["not_found"]
        assert seen.row["needs_person"], name


@pytest.mark.parametrize("fault", one_of_a_kind(ABOUT_IDS, "missing_ids"))
def test_ids_never_offered_left_out_or_doubled(
    product: RunningProduct, under_every_strategy: Any, quiet: dict[str, Any], fault: str
) -> None:
    product.fake.fault(fault)
    for name, seen in under_every_strategy().items():
        changed = {identity for identity in seen.decided if seen.decided[identity] != quiet[name][identity]}
        if fault != "missing_ids" or name not in SPEAK_OF_IDS:
            assert changed == set(), name
        if name in SPEAK_OF_IDS and fault == "invented_ids":
            assert seen.row["unknown_ids"], name
        if name in SPEAK_OF_IDS and fault == "repeated_ids":
            assert seen.row["repeated_ids"], name
        if fault == "missing_ids" and name != "pointwise":
            assert {seen.decided[identity] for identity in changed} <= {(None, "undecided")}


def test_a_pause_that_the_server_asks_for_is_kept_and_one_too_long_is_not_waited_for(
    product: RunningProduct, under_every_strategy: Any
) -> None:
    product.fake.fault("rate_limit", retry_after=3600)
    for name, seen in under_every_strategy().items():
        assert seen.outcomes == {"rate_limited"}, name
        assert {call["attempt"] for call in seen.calls} == {1}, (
            "an hour's pause is no reason to wait, or to try"
        )


def test_a_shard_that_hangs_costs_its_time_out_and_its_own_candidates(
    product: RunningProduct, analyst: httpx.Client, document: int
) -> None:
    product.fake.reset()
    product.fake.fault("hang", match=MARK)
    run = ask(analyst, QUESTION, strategy="pointwise", document=document)
    assert ended(product, run) == "done"
    product.fake.reset()

    seen = Seen(product, run)
    seen.check()
    shards = [call for call in seen.calls if call["prompt_name"] == "pointwise"]
    assert sorted(call["outcome"] for call in shards) == ["ok", "ok", "ok", "timeout"]
    assert {call["attempt"] for call in shards} == {1}, "never a second attempt of the same length"
    (struck,) = [verdict for verdict in seen.verdicts.values() if MARK in verdict["anchor"]]
    assert struck["kind"] != "llm"
    assert len(seen.by_model) >= len(seen.verdicts) // 2
    (arbitration,) = [stage["ms"] for stage in seen.row["stages"] if stage["stage"] == "arbitrate"]
    assert arbitration < 1000 * TIMEOUT_S + MARGIN_MS
