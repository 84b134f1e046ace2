"""Words for a run: its detectors, its cost, and erased texts."""

from __future__ import annotations

from decimal import Decimal

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from arbitration.settings import METHODS
from workbench.infra.crumbs import crumbs

from .models import Run


def run_crumbs(run: Run, *, here: str) -> list[dict[str, str]]:
    name = _("Run %(pk)d") % {"pk": run.pk}
    return crumbs(run.collection, (name, run.get_absolute_url()), here=here)


#: A detector without words of its own is called by its name.
METHOD_LABELS = {method: method.replace("_", " ").capitalize() for method in METHODS} | {
    "toc": gettext_lazy("Table of contents"),
    "cooccurrence": gettext_lazy("Keywords together"),
    "bm25": gettext_lazy("Words and codes"),
    "pattern": gettext_lazy("Reference or alias"),
    "embedding": gettext_lazy("Meaning"),
    "toc_reasoning": gettext_lazy("A model's reading plan"),
    "references": gettext_lazy("Cross-reference"),
    "human": gettext_lazy("A person"),
}

#: A strategy in words, where it has some; else its description is shown.
STRATEGY_WORDS = {
    "offline": gettext_lazy("rules decide, people decide the uncertain"),
    "arbiter": gettext_lazy("a model reads every passage and gives a role and a reason"),
    "r-flow": gettext_lazy("rules and scores decide; a model, if there is one, decides the uncertain"),
    "consensus": gettext_lazy("a model answers from each passage alone and judges its own answer"),
    "pointwise": gettext_lazy("a model grades each passage from 0 to 10"),
    "multi-criteria": gettext_lazy("a model scores relevance and five properties"),
    "multi-criteria-2": gettext_lazy("a model first says which criteria matter, then scores by them"),
    "bm25": gettext_lazy("ranks by keywords"),
    "semantic": gettext_lazy("ranks by meaning"),
    "rrf": gettext_lazy("ranks by keywords and meaning together"),
    "semantic+keyword": gettext_lazy("ranks by meaning, raised where keywords match"),
    "late-interaction": gettext_lazy("ranks by the best match of each word"),
    "late-interaction+words": gettext_lazy("ranks by the best match of each word, or by an estimate"),
    "semantic+gates": gettext_lazy("meaning and keywords against the thresholds"),
    "r-flow-mlp": gettext_lazy("ranks by the reranker"),
}

#: How a call of a model ended.
_OUTCOMES = {
    "ok": gettext_lazy("answered"),
    "timeout": gettext_lazy("no answer in time"),
    "connection": gettext_lazy("the server cannot be reached"),
    "rate_limited": gettext_lazy("too many calls"),
    "server_error": gettext_lazy("a server error"),
    "refused": gettext_lazy("the model refused"),
    "cut_off": gettext_lazy("the answer was cut off"),
    "unparseable": gettext_lazy("the answer could not be read"),
    "wrong_schema": gettext_lazy("the answer had the wrong form"),
    "budget": gettext_lazy("held back by a budget"),
    "stopped": gettext_lazy("language models are stopped"),
    "not_allowed": gettext_lazy("the collection does not allow the endpoint"),
    "bad_request": gettext_lazy("the server rejected the call"),
    "circuit_open": gettext_lazy("held back after repeated failures"),
}


#: What a model is called for.
_STEPS = {
    "parse": gettext_lazy("reading the question"),
    "detect": gettext_lazy("finding passages"),
    "embed": gettext_lazy("comparing by meaning"),
    "rerank": gettext_lazy("ranking"),
    "rubric": gettext_lazy("choosing the criteria"),
    "arbitrate": gettext_lazy("judging passages"),
    "judge": gettext_lazy("judging passages"),
    "predict": gettext_lazy("answering from one passage"),
    "repair": gettext_lazy("asking again for what was missing"),
    "second_order": gettext_lazy("judging in another order"),
    "second_pass": gettext_lazy("judging a second time"),
    "conflicts": gettext_lazy("looking for contradictions"),
    "verify": gettext_lazy("checking a verdict"),
    "answer": gettext_lazy("writing the answer"),
    "probe": gettext_lazy("testing the endpoint"),
}


def step_words(stage: str) -> str:
    return str(_STEPS.get(stage, stage.replace("_", " ")))


def outcome_words(outcome: str) -> str:
    return str(_OUTCOMES.get(outcome, outcome.replace("_", " ")))


def erased_words() -> str:
    """The placeholder for a text that was erased with its document."""
    return _("This text was erased.")


def spent_words(calls: int, usd: Decimal, unpriced: int) -> list[str]:
    """The number of model calls, and their cost if any. Mentions calls of models without a price, because the sum is
    then incomplete."""
    words = [ngettext("%(n)d model call", "%(n)d model calls", calls) % {"n": calls}]
    cost = number_format(usd, 4)
    if unpriced:
        at_least = [_("at least %(cost)s USD") % {"cost": cost}] if usd else []
        unknown = ngettext("%(n)d call of unknown cost", "%(n)d calls of unknown cost", unpriced)
        return [*words, *at_least, unknown % {"n": unpriced}]
    return [*words, _("%(cost)s USD") % {"cost": cost}] if usd else words
