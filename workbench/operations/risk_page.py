"""The page of the risk that a collection accepts: each bar by its effect, in words, as a curve and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from arbitration.settings import EngineSettings
from training.bars import Decides, Measure, measure_of, shipped_bar
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, permissions_in
from workbench.collection_settings.bars import bars_in_use, proposals_of, why_none
from workbench.collection_settings.models import BarProposal, BarState, CollectionBar
from workbench.collection_settings.presenters import settings_step
from workbench.documents.models import Collection
from workbench.infra.crumbs import crumbs
from workbench.infra.figures import figure, percent
from workbench.infra.plots import Chart, Mark, Series, chart
from workbench.runs.reranking import reranker_state

from .forms import BarApplyForm, BarRemoveForm, PromiseForm

#: What is promised where nobody has stated anything, in per cent.
USUAL_PROMISE = 10


def risk_page(*, collection: Collection, user: User) -> dict[str, Any]:
    """What is in use, what was computed last, and the forms to change it."""
    state = reranker_state()
    in_use = list(bars_in_use(collection=collection))
    kinds = [_kind(collection, decides, in_use, state) for decides in Decides]
    return {
        "collection": collection,
        "may_manage": Permission.MANAGE in permissions_in(user, collection),
        "url": reverse("ops:risk", args=[collection.slug]),
        "kinds": kinds,
        "is_computing": any(kind["progress"] for kind in kinds),
        "crumbs": crumbs(collection, settings_step(collection), here=_("Accepted risk")),
    }


def _kind(
    collection: Collection, decides: Decides, in_use: list[CollectionBar], state: str
) -> dict[str, Any]:
    newest = proposals_of(collection=collection, decides=decides).first()
    is_waiting = newest is not None and newest.state == BarState.WAITING
    shown = newest
    if newest is not None and newest.state != BarState.READY:
        shown = proposals_of(collection=collection, decides=decides).filter(state=BarState.READY).first()
    promised = newest.promised if newest else USUAL_PROMISE / 100
    return {
        "name": decides.value,
        "title": TITLES[decides](),
        "explained": EXPLAINED[decides](),
        "rows": [_used(row, state) for row in in_use if row.decides == decides],
        "shipped": _shipped(decides, state),
        "progress": _progress(newest) if newest is not None and is_waiting else None,
        "failure": newest.failure if newest is not None and newest.state == BarState.FAILED else "",
        "proposal": _proposal(shown, in_use, state) if shown is not None else None,
        "form": PromiseForm(
            decides=decides,
            initial={"decides": decides.value, "promised": f"{100 * promised:g}"},
            auto_id=f"id_{decides.value}_%s",
        ),
    }


TITLES = {Decides.DISCARD: lambda: _("Discarding"), Decides.ACCEPT: lambda: _("Accepting")}
EXPLAINED = {
    Decides.DISCARD: lambda: _(
        "A question loses its evidence unseen when every passage that answers it is discarded and nobody is asked."
    ),
    Decides.ACCEPT: lambda: _(
        "A passage is accepted wrongly when it is kept as evidence with nobody asked, and answers nothing."
    ),
}


def _shipped(decides: Decides, state: str) -> str:
    """What serves where no bar was set, in words."""
    measure = measure_of(decides, has_model=state != "rules", has_late=True)
    if measure is Measure.MODEL:
        return _("The shipped default is in use.")
    return _("The shipped default is in use: %(bar)s.") % {
        "bar": bar_words(decides, measure, shipped_bar(decides, measure))
    }


def bar_words(decides: Decides, measure: Measure, seen: float) -> str:
    """What a bar does, as the end of a sentence. ``seen`` lies on the scale of the cards."""
    if measure is Measure.NEAREST:
        if seen >= EngineSettings().pool_size:
            return _("everything that was found is kept for people")
        return _("at most %(n)d of the nearest passages are kept for people") % {"n": seen}
    if decides is Decides.DISCARD:
        return _("passages with a match of %(share)s %% or less are discarded") % {
            "share": figure(100 * seen)
        }
    return _("passages with a match of %(share)s %% or more are accepted") % {"share": figure(100 * seen)}


def _short(measure: Measure, seen: float) -> str:
    if measure is not Measure.NEAREST:
        return percent(seen)
    return _("all") if seen >= EngineSettings().pool_size else number_format(int(seen))


def _used(row: CollectionBar, state: str) -> dict[str, Any]:
    decides, measure = Decides(row.decides), Measure(row.measure)
    ways = {way["bar"]: way["seen"] for way in row.proposal.ways}
    return {
        "row": row,
        "words": bar_words(decides, measure, ways.get(row.bar, row.bar)),
        "promised": figure(100 * row.proposal.promised),
        # A bar of the rules waits while a model serves, and the other way round.
        "is_idle": (measure is Measure.MODEL) is (state == "rules"),
        "is_old": measure is Measure.MODEL and row.proposal.reranker != state,
        "remove": BarRemoveForm(
            initial={"bar": row.pk, "seen_revision": row.revision}, auto_id=f"id_remove{row.pk}_%s"
        ),
    }


def _progress(proposal: BarProposal) -> dict[str, Any]:
    label = _("Questions replayed: %(done)d of %(total)d") % {
        "done": proposal.done,
        "total": proposal.total,
    }
    return {
        "dom_id": f"risk-{proposal.decides}",
        "title": _("Computing"),
        "state": "running" if proposal.lease_owner else "queued",
        "elapsed_s": (timezone.now() - proposal.created_at).total_seconds(),
        "stages": [{"label": label, "state": "running"}],
    }


# --- the newest that is ready -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EffectRow:
    """One bar with its effect, against the one in use."""

    bar: str
    cards: float
    lost: float
    bound: float
    words: str
    is_in_use: bool
    is_chosen: bool


def _proposal(proposal: BarProposal, in_use: list[CollectionBar], state: str) -> dict[str, Any]:
    decides, measure = Decides(proposal.decides), Measure(proposal.measure)
    row = next((bar for bar in in_use if (bar.decides, bar.measure) == (decides, measure)), None)
    current = row.bar if row else shipped_bar(decides, measure)
    rows = effect_rows(proposal, current=current)
    chosen = next((one for one in rows if one.is_chosen), None)
    is_old = proposal.reranker != state
    return {
        "row": proposal,
        "promised": figure(100 * proposal.promised),
        "words": bar_words(decides, measure, _seen(proposal)) if chosen else "",
        "effect": chosen,
        "why_none": "" if chosen else why_none(proposal),
        "is_old": is_old,
        "is_applied": row is not None and row.proposal_id == proposal.pk,
        "rows": rows if proposal.groups else [],
        "plot": _plot(decides, proposal, rows) if proposal.groups else None,
        "columns": _columns(decides, measure),
        "form": BarApplyForm(
            initial={"proposal": proposal.pk, "seen_revision": row.revision if row else 0},
            auto_id=f"id_apply{proposal.pk}_%s",
        )
        if chosen and not is_old
        else None,
    }


def _seen(proposal: BarProposal) -> float:
    return next(float(way["seen"]) for way in proposal.ways if way["bar"] == proposal.bar)


def effect_rows(proposal: BarProposal, *, current: float) -> list[EffectRow]:
    """Every bar that was tried, against the one in use."""
    decides, measure = Decides(proposal.decides), Measure(proposal.measure)
    here = next((way for way in proposal.ways if way["bar"] == current), None)
    return [
        EffectRow(
            bar=_short(measure, way["seen"]),
            cards=way["cards"],
            lost=100 * way["lost"],
            bound=100 * way["bound"],
            words="" if here is None or way is here else effect_words(decides, way, here),
            is_in_use=way["bar"] == current,
            is_chosen=way["bar"] == proposal.bar,
        )
        for way in proposal.ways
    ]


def effect_words(decides: Decides, way: dict[str, float], here: dict[str, float]) -> str:
    """What changes against the bar in use: "people read 9 more passages a question, and 2 % fewer questions lose
    evidence"."""
    cards, lost = round(way["cards"] - here["cards"], 1), round(100 * (way["lost"] - here["lost"]), 1)
    if not cards and not lost:
        return _("nothing changes.")
    return _("%(reads)s, and %(loses)s.") % {"reads": _reads(cards), "loses": _loses(decides, lost)}


def _reads(cards: float) -> str:
    if not cards:
        return _("people read as many passages a question")
    said = (
        _("people read %(n)s more passages a question")
        if cards > 0
        else _("people read %(n)s fewer passages a question")
    )
    return said % {"n": figure(abs(cards))}


def _loses(decides: Decides, lost: float) -> str:
    share = {"share": figure(abs(lost))}
    if decides is Decides.DISCARD:
        if not lost:
            return _("as many questions lose evidence")
        if lost < 0:
            return _("%(share)s %% fewer questions lose evidence") % share
        return _("%(share)s %% more questions lose evidence") % share
    if not lost:
        return _("as many accepted passages are wrong")
    if lost < 0:
        return _("%(share)s %% fewer accepted passages are wrong") % share
    return _("%(share)s %% more accepted passages are wrong") % share


def _columns(decides: Decides, measure: Measure) -> tuple[str, str]:
    """Heads of the columns of the bar and of what it loses."""
    bar = (
        _("Nearest kept")
        if measure is Measure.NEAREST
        else _("Discarded up to")
        if decides is Decides.DISCARD
        else _("Accepted from")
    )
    return bar, _("Questions lost") if decides is Decides.DISCARD else _("Wrongly accepted")


def _plot(decides: Decides, proposal: BarProposal, rows: list[EffectRow]) -> Chart:
    lost = (
        _("% of questions that lose their evidence")
        if decides is Decides.DISCARD
        else _("% of accepted passages that are wrong")
    )

    def mark(row: EffectRow) -> Mark:
        if row.is_chosen:
            return "chosen"
        return "current" if row.is_in_use else ""

    return chart(
        title=_("What each bar costs, and what it loses"),
        x_label=_("passages people read, a question"),
        y_label=lost,
        series=[
            Series(lost, [(row.cards, row.lost) for row in rows], marks=[mark(row) for row in rows]),
            Series(
                _("most that a new question may lose on average"),
                [(row.cards, row.bound) for row in rows],
                is_edge=True,
            ),
        ],
        limit=100 * proposal.promised,
        limit_label=_("promised"),
        unit=" %",
    )
