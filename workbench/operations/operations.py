"""What the Operations page reads: what waits, what failed, what models did and cost.

An administrator of the installation sees the figures of all collections, everybody else those of the collections
they audit. Names and questions are shown only to members of their collection, whoever asks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db.models import Count, F, Min, Q, Sum
from django.db.models.functions import Now, TruncDate
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from workbench.accounts.models import Membership
from workbench.accounts.permissions import ROLE_PERMISSIONS, Permission, administers, member_condition
from workbench.audit.actions import Action
from workbench.audit.models import AuditEvent
from workbench.checklists.models import Cell
from workbench.documents.models import Collection, Document, DocumentStatus
from workbench.documents.restrictions import open_to
from workbench.infra.dates import day_in_words, days_between
from workbench.infra.model_endpoints import model_endpoints
from workbench.infra.plots import BarPlot, Chart, bar_plot, chart, over
from workbench.runs.gateway import llm_control, spent_this_month
from workbench.runs.models import LLMCall, Run, RunStatus
from workbench.runs.words import outcome_words

if TYPE_CHECKING:
    from workbench.accounts.models import User

DAYS = 14
MOST_FAILED = 10
#: Collections that only evaluations use: their repeated questions say nothing of people's.
EVALUATION_SLUG = "evaluation-"
#: Strategies' rows in the ledger without a run: evaluations and probes.
WITHOUT_RUN = "–"
NOT_SENT = ("budget", "stopped", "not_allowed", "circuit_open")


def may_operate(user: User) -> bool:
    """Whether the person may look at operations at all."""
    return administers(user) or Collection.objects.visible_to(user, Permission.AUDIT).exists()


def seen_by(user: User, *, prefix: str = "collection") -> Q:
    """The filter of figures for a person."""
    return Q() if administers(user) else member_condition(user, Permission.AUDIT, prefix=prefix)


def _permissions_by_collection(user: User) -> dict[int, frozenset[Permission]]:
    """What the person may do in each of their collections. One query."""
    held: dict[int, frozenset[Permission]] = defaultdict(frozenset)
    for collection_id, role in Membership.objects.filter(user=user).values_list("collection_id", "role"):
        held[collection_id] |= ROLE_PERMISSIONS[role]
    return held


def operations_page(*, user: User) -> dict[str, Any] | None:
    """Everything on the page; None for somebody who may not look at operations."""
    held = _permissions_by_collection(user)
    if not administers(user) and not any(Permission.AUDIT in may for may in held.values()):
        return None
    control = llm_control()
    ledger = ledger_of(user)
    spent = spent_this_month()
    return {
        "queues": _queues(user),
        "failures": _failures(user, held),
        "control": control,
        "may_control": administers(user),
        "endpoints": model_endpoints(),
        "spent": spent,
        "month_share": float(spent / control.month_budget) if control.month_budget else None,
        "days": DAYS,
        "ledger": ledger,
        "cache": _cache(user),
        "shards": _shards(user) if "pointwise" in ledger.by_strategy else None,
    }


# --- what waits -------------------------------------------------------------------------------------


def _queues(user: User) -> list[dict[str, Any]]:
    documents = Document.objects.filter(seen_by(user)).aggregate(
        waiting=Count("pk", filter=Q(status=DocumentStatus.QUEUED)),
        working=Count(
            "pk",
            filter=Q(status__in=[DocumentStatus.PARSING, DocumentStatus.STORING, DocumentStatus.EMBEDDING]),
        ),
        oldest=Min("created_at", filter=Q(status=DocumentStatus.QUEUED)),
    )
    waits = Q(status__in=[RunStatus.QUEUED, RunStatus.DETECTED, RunStatus.ARBITRATED])
    works = Q(status__in=[RunStatus.DETECTING, RunStatus.ARBITRATING, RunStatus.ANSWERING])
    runs = Run.objects.filter(seen_by(user)).aggregate(
        waiting=Count("pk", filter=waits),
        working=Count("pk", filter=works),
        oldest=Min("created_at", filter=waits),
    )
    cells = Cell.objects.filter(
        seen_by(user, prefix="round__question_set__collection"), run__isnull=True, failure=""
    ).aggregate(waiting=Count("pk"), oldest=Min("round__created_at"))
    return [
        _queue(_("Documents to read"), documents),
        _queue(_("Questions to answer"), runs),
        _queue(_("Questions of sets still to ask"), cells | {"working": 0}),
    ]


def _queue(label: str, figures: dict[str, Any]) -> dict[str, Any]:
    return {
        "label": label,
        **figures,
        "age": timezone.now() - figures["oldest"] if figures["oldest"] else None,
    }


# --- what failed ------------------------------------------------------------------------------------


def _failures(user: User, held: dict[int, frozenset[Permission]]) -> list[dict[str, Any]]:
    """The newest failures in collections the person belongs to, each with the address that tries it again."""
    uploads = {key for key, may in held.items() if Permission.UPLOAD in may}
    asks = {key for key, may in held.items() if Permission.ASK in may}
    documents = Document.objects.visible_to(user, Permission.AUDIT).filter(status=DocumentStatus.FAILED)
    runs = Run.objects.visible_to(user, Permission.AUDIT).filter(status=RunStatus.FAILED)
    runs = runs.select_related("question")
    cells = (
        Cell.objects.filter(
            member_condition(user, Permission.AUDIT, prefix="round__question_set__collection"),
            open_to(user, "document"),
        )
        .exclude(failure="")
        .select_related("round__question_set", "entry", "document")
    )
    return [
        *(
            _failure(
                _("document"),
                row.name,
                row.get_absolute_url(),
                row.failure_reason,
                reverse("documents:retry", args=[row.pk]) if row.collection_id in uploads else "",
            )
            for row in documents.order_by("-id")[:MOST_FAILED]
        ),
        *(
            _failure(
                _("run"),
                row.question.text,
                row.get_absolute_url(),
                row.failure_reason,
                reverse("ops:run-retry", args=[row.pk]) if row.collection_id in asks else "",
            )
            for row in runs.order_by("-id")[:MOST_FAILED]
        ),
        *(
            _failure(
                _("question of a set"),
                f"{row.entry.text} · {row.document.name}",
                row.round.get_absolute_url(),
                row.failure,
                reverse("question_sets:retry", args=[row.pk])
                if row.round.question_set.collection_id in asks
                else "",
            )
            for row in cells.order_by("-id")[:MOST_FAILED]
        ),
    ]


def _failure(kind: str, name: str, url: str, reason: str, retry_url: str) -> dict[str, str]:
    return {"kind": kind, "name": name, "url": url, "reason": reason, "retry_url": retry_url}


# --- what models did --------------------------------------------------------------------------------


@dataclass(slots=True)
class Usage:
    """Calls, tokens and cost of something."""

    calls: int = 0
    failed: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)
    unpriced: int = 0

    def add(self, row: dict[str, Any]) -> None:
        self.calls += row["calls"]
        self.failed += row["failed"]
        self.input_tokens += row["input"]
        self.cached_tokens += row["cached"]
        self.output_tokens += row["output"]
        self.cost += row["usd"]
        self.unpriced += row["unpriced"]

    @property
    def cached_share(self) -> float | None:
        """Share of the input tokens that the provider had cached."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else None


SUMS: dict[str, Any] = {
    "calls": Count("pk"),
    "failed": Count("pk", filter=~Q(outcome="ok")),
    "input": Sum("input_tokens"),
    "cached": Sum("cached_tokens"),
    "output": Sum("output_tokens"),
    "usd": Sum("cost"),
    "unpriced": Count("pk", filter=Q(is_priced=False)),
}


@dataclass(slots=True)
class Ledger:
    """The calls of the last days, added up several ways."""

    by_day: dict[Any, Usage] = field(default_factory=lambda: defaultdict(Usage))
    by_strategy: dict[str, Usage] = field(default_factory=lambda: defaultdict(Usage))
    outcomes: Counter[str] = field(default_factory=Counter)
    total: Usage = field(default_factory=Usage)

    @property
    def days(self) -> list[tuple[Any, Usage]]:
        """Days with calls, newest first."""
        return sorted(self.by_day.items(), key=lambda item: item[0], reverse=True)

    @property
    def strategies(self) -> list[tuple[str, Usage]]:
        return sorted(self.by_strategy.items(), key=lambda item: (-item[1].cost, item[0]))

    @property
    def outcome_rows(self) -> list[tuple[str, int]]:
        """How calls ended, the most frequent first."""
        return [(outcome_words(outcome), calls) for outcome, calls in self.outcomes.most_common()]

    @property
    def time_outs(self) -> int:
        """Calls that gave no answer in time."""
        return self.outcomes["timeout"]

    @property
    def day_chart(self) -> Chart:
        """Cost by day, up to today; for a ledger with calls."""
        days = days_between(min(self.by_day), max([*self.by_day, timezone.now().date()]))
        costs = [float(self.by_day[day].cost) if day in self.by_day else 0.0 for day in days]
        return chart(
            title=_("Cost by day"),
            x_label=_("Day"),
            y_label=_("USD"),
            labels=[day_in_words(day) for day in days],
            series=[over(_("Cost"), costs, "bars")],
            digits=4,
        )

    @property
    def strategy_plot(self) -> BarPlot:
        figures = [(name, float(use.cost), None, None) for name, use in self.strategies]
        return bar_plot(title=_("Cost by strategy, USD"), figures=figures, digits=4)


def ledger_of(user: User) -> Ledger:
    """The last :data:`DAYS` days. One query."""
    rows = (
        LLMCall.objects.filter(seen_by(user), created_at__gte=Now() - timedelta(days=DAYS))
        .annotate(day=TruncDate("created_at"), strategy=F("run__strategy"))
        .values("day", "strategy", "outcome")
        .order_by("day")
        .annotate(**SUMS)
    )
    ledger = Ledger()
    for row in rows:
        for usage in (
            ledger.by_day[row["day"]],
            ledger.by_strategy[row["strategy"] or WITHOUT_RUN],
            ledger.total,
        ):
            usage.add(row)
        ledger.outcomes[row["outcome"]] += row["calls"]
    return ledger


def _cache(user: User) -> dict[str, Any]:
    """How many questions an earlier run answered."""
    collections = Collection.objects.exclude(slug__startswith=EVALUATION_SLUG)
    if not administers(user):
        collections = collections.visible_to(user, Permission.AUDIT)
    counts = AuditEvent.objects.filter(
        action__in=[Action.QUESTION_ASKED, Action.QUESTION_REPEATED],
        created_at__gte=Now() - timedelta(days=DAYS),
        collection_id__in=collections.values("pk"),
    ).aggregate(
        asked=Count("pk", filter=Q(action=Action.QUESTION_ASKED)),
        repeated=Count("pk", filter=Q(action=Action.QUESTION_REPEATED)),
    )
    questions = counts["asked"] + counts["repeated"]
    return {
        "questions": questions,
        "hits": counts["repeated"],
        "rate": counts["repeated"] / questions if questions else None,
    }


@dataclass(frozen=True, slots=True)
class Shards:
    """Runs of ``pointwise``: the share that lost a shard, beside what independent failures would give."""

    runs: int
    lost_share: float
    failure_rate: float
    per_run: float

    @property
    def expected(self) -> float:
        """1 - (1 - p)^N with p the share of failed calls and N the calls per run."""
        return float(1 - (1 - self.failure_rate) ** self.per_run)


def _shards(user: User) -> Shards | None:
    """None when no such run was made lately."""
    rows = list(
        LLMCall.objects.filter(
            seen_by(user),
            prompt_name="pointwise",
            run__isnull=False,
            created_at__gte=Now() - timedelta(days=DAYS),
        )
        .exclude(outcome__in=NOT_SENT)
        .values("run_id")
        .order_by()
        .annotate(calls=Count("pk"), failed=Count("pk", filter=~Q(outcome="ok")))
        .values_list("calls", "failed")[:5000]
    )
    if not rows:
        return None
    calls, failed = sum(c for c, _failed in rows), sum(f for _calls, f in rows)
    return Shards(
        runs=len(rows),
        lost_share=sum(f > 0 for _calls, f in rows) / len(rows),
        failure_rate=failed / calls,
        per_run=calls / len(rows),
    )
