"""``manage.py evaluate DIR --strategies a,b``: strategies on a labelled set, judged by the anchor rule."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from arbitration.errors import ArbitrationError
from arbitration.evaluation.answers import AnswerJudge, answer_metrics
from arbitration.evaluation.datasets import load_dataset
from arbitration.evaluation.judge import Judge
from arbitration.evaluation.runner import EvaluationReport, evaluate
from arbitration.evaluation.structured import line_maps
from arbitration.settings import EngineSettings
from arbitration.strategies.groups import GROUPS, expanded
from arbitration.strategies.registry import STRATEGIES
from workbench.infra.commands import JsonCommand, wrong_use
from workbench.rerankers.evaluation import deployed_for
from workbench.runs.cache_trial import cache_trial
from workbench.runs.evaluation import LoadedSet, QuestionRunner, dataset_load
from workbench.runs.gateway import collection_chat_model, endpoint_configured
from workbench.runs.models import EvaluationRun
from workbench.runs.scratch import cross_fit, label_set, train_on_other
from workbench.runs.strategies import needs_model

#: Parts of the engine that an evaluation may leave out.
PARTS = ("precedence", "definitions", "references")
#: Options that are kept with the figures as they were given.
_KEPT_OPTIONS = ("limit", "seed", "runs", "cross_fit", "cached", "without", "answers")


class Command(JsonCommand):
    help = "Runs strategies on a labelled set and reports ranking, not-found, cost and latency figures."

    #: What became of the deployed model: used, or set aside for its training; None where scratch models serve.
    _deployed: dict[str, Any] | None = None

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("folder", metavar="DIR", type=Path)
        parser.add_argument(
            "--strategies",
            required=True,
            metavar="A,B",
            help=f"comma-separated names; groups: {', '.join(GROUPS)}",
        )
        parser.add_argument(
            "--train-on", type=Path, metavar="DIR", help="train a temporary reranker on this folder"
        )
        parser.add_argument(
            "--cross-fit",
            type=at_least(2),
            metavar="N",
            help="cross-fit in N parts by question, each tested by models not trained on it",
        )
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--limit", type=at_least(1), metavar="N", help="only the first N questions")
        parser.add_argument("--runs", type=at_least(1), default=1, metavar="N", help="run the set N times")
        parser.add_argument(
            "--cached", action="store_true", help="run the set again through the question cache"
        )
        parser.add_argument(
            "--without",
            default="",
            metavar="A,B",
            help=f"switch off parts to measure their effect: {', '.join(PARTS)}",
        )
        parser.add_argument("--answers", action="store_true", help="also write and judge answers")
        parser.add_argument(
            "--judge",
            default=settings.JUDGE_MODEL,
            metavar="MODEL",
            help=(
                "model that judges answers; must differ from the one that writes them (default: JUDGE_MODEL)"
            ),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        started = time.monotonic()
        if options["train_on"] is not None and options["cross_fit"] is not None:
            raise wrong_use("Give --train-on or --cross-fit, not both.")
        names = _strategy_names(options["strategies"])
        _parts_without(options["without"])
        _check_models(names, options)
        try:
            value = self._figures(names, options)
        except ArbitrationError as error:
            raise CommandError(str(error)) from error
        EvaluationRun.objects.create(
            dataset=value["dataset"],
            options={name: options[name] for name in _KEPT_OPTIONS}
            | {
                "strategies": names,
                "train_on": str(options["train_on"] or ""),
                "judge": options["judge"] if options["answers"] else "",
                "revision": _revision(),
            },
            report=value,
            seconds=time.monotonic() - started,
        )
        self.emit(value, human=_table)

    def _figures(self, names: list[str], options: dict[str, Any]) -> dict[str, Any]:
        """The report, with the additions of --answers and --cached."""
        dataset = load_dataset(options["folder"]).limited(options["limit"])
        loaded = dataset_load(dataset=dataset, tell=self._tell)
        runner = QuestionRunner(
            loaded=loaded,
            strategies=names,
            answers=_answer_judge(loaded, options),
            keep_pools=options["cross_fit"] is not None,
            settings=EngineSettings(**_parts_without(options["without"])),
        )
        try:
            value = self._report(names, options, loaded, runner).as_json()
        finally:
            runner.close()
        value["deployed_model"] = self._deployed
        if options["answers"]:
            for name, figures in runner.answer_figures.items():
                measured = answer_metrics(figures, seed=options["seed"])
                value["strategies"][name] |= {metric: f.as_json() for metric, f in measured.items()}
            value["judge"] = options["judge"] or None
        if options["cached"]:
            value["cached"] = cache_trial(loaded=loaded, strategies=names, tell=self._tell)
        return value

    def _report(
        self, names: list[str], options: dict[str, Any], loaded: LoadedSet, runner: QuestionRunner
    ) -> EvaluationReport:
        dataset = loaded.dataset
        trained_on, training_questions = self._train(runner, loaded, options)
        return evaluate(
            dataset=dataset,
            strategies=names,
            run_question=runner,
            judge=Judge(line_maps(dataset)),
            trained_on=trained_on,
            training_questions=training_questions,
            runs=options["runs"],
            seed=options["seed"],
            progress=lambda strategy, done, total: self._tell(f"{strategy}: {done} of {total}", done, total),
        )

    def _train(
        self, runner: QuestionRunner, loaded: LoadedSet, options: dict[str, Any]
    ) -> tuple[str | None, list[str]]:
        """Trains the runner's temporary models. Returns what they were trained on, and the training questions.

        With ``--cross-fit``, each question is tested by a model of the other parts, so none is shared.
        """
        if options["train_on"] is not None:
            other = load_dataset(options["train_on"])
            other_loaded = dataset_load(dataset=other, tell=self._tell)
            other_runner = QuestionRunner(loaded=other_loaded, strategies=[])
            labelled = label_set(loaded=other_loaded, runner=other_runner, tell=self._tell)
            runner.services, questions = train_on_other(labelled, tested=loaded.dataset, name=other.name)
            return str(options["train_on"]), questions
        if options["cross_fit"] is not None:
            labelled = label_set(loaded=loaded, runner=runner, tell=self._tell)
            runner.services = cross_fit(
                labelled,
                tested=loaded.dataset,
                parts=options["cross_fit"],
                seed=options["seed"],
                tell=self._tell,
            )
            return f"the other parts of {options['folder']} ({options['cross_fit']} parts)", []
        deployed = deployed_for(
            (question.text for question in loaded.dataset.questions),
            documents=(document.content_hash() for document in loaded.dataset.documents),
        )
        runner.services = lambda _question: deployed.services
        self._deployed = deployed.as_json()
        if deployed.version and not deployed.is_used:
            self._tell(
                f"the deployed model {deployed.version} was trained on {len(deployed.overlap)} of these questions"
                f" and {deployed.documents} of these documents: set aside"
            )
        return f"the deployed model {deployed.version}" if deployed.is_used else None, []

    def _tell(self, text: str, done: int = 0, total: int = 0) -> None:
        """Shows progress on standard error."""
        if sys.stderr.isatty() or (total and done % max(1, total // 20) == 0):
            self.stderr.write(text, ending="\r" if sys.stderr.isatty() else "\n")


def at_least(least: int) -> Callable[[str], int]:
    """The type of an option: a whole number with a minimum."""

    def number(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or len(text) > 9 or int(text) < least:
            raise argparse.ArgumentTypeError(f"give a whole number from {least} on")
        return int(text)

    return number


def _strategy_names(given: str) -> list[str]:
    names = expanded([name.strip() for name in given.split(",") if name.strip()])
    unknown = [name for name in names if name not in STRATEGIES]
    if unknown or not names:
        known = ", ".join([*STRATEGIES, *GROUPS])
        raise wrong_use(f"Unknown strategies: {', '.join(unknown) or 'none given'}. There are: {known}.")
    return names


def _parts_without(given: str) -> dict[str, bool]:
    """The settings that switch off parts of the engine. Refuses unknown parts."""
    parts = [name.strip() for name in given.split(",") if name.strip()]
    unknown = [name for name in parts if name not in PARTS]
    if unknown:
        raise wrong_use(f"Unknown parts: {', '.join(unknown)}. There are: {', '.join(PARTS)}.")
    return dict.fromkeys(parts, False)


def _check_models(names: list[str], options: dict[str, Any]) -> None:
    """Refuses combinations that cannot work, before any work starts."""
    asking = [name for name in names if needs_model(name)]
    if asking and not endpoint_configured():
        raise CommandError(
            f"{', '.join(asking)} cannot run without a language model. Set OPENAI_API_KEY or OPENAI_BASE_URL."
        )
    if not (options["answers"] and options["judge"]):
        return
    if not endpoint_configured():
        raise CommandError("A judge needs an endpoint. Set OPENAI_API_KEY or OPENAI_BASE_URL.")
    if options["judge"] == settings.OPENAI_MODEL:
        raise CommandError(
            f"{options['judge']} writes the answers and cannot judge them. Name another model with --judge."
        )


def _answer_judge(loaded: LoadedSet, options: dict[str, Any]) -> AnswerJudge | None:
    """The judge of answers. Without a model it only gives figures that need none."""
    if not options["answers"]:
        return None
    if not options["judge"]:
        return AnswerJudge()
    collection = next(iter(loaded.collections.values()))
    chat = collection_chat_model(collection=collection, model=options["judge"])
    return AnswerJudge(chat, timeout_s=float(settings.LLM_TIMEOUT_SECONDS))


def _revision() -> str:
    """The commit that the figures belong to; empty outside a checkout."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            cwd=settings.BASE_DIR,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def _table(value: dict[str, Any]) -> str:
    """The figures of all strategies side by side."""
    strategies = value["strategies"]
    metrics = list(dict.fromkeys(name for figures in strategies.values() for name in figures))
    lines = [f"{value['dataset']}: {value['questions']} questions, {value['answerable']} answerable"]
    lines.append("".join([f"{'':<22}", *(f"{name:>28}" for name in strategies)]))
    for metric in metrics:
        cells = [_cell(figures.get(metric)) for figures in strategies.values()]
        lines.append("".join([f"{metric:<22}", *(f"{cell:>28}" for cell in cells)]))
    return "\n".join(lines)


def _cell(figure: dict[str, Any] | None) -> str:
    if figure is None or figure["value"] is None:
        return "-"
    return f"{figure['value']:.3f} [{figure['low']:.3f}, {figure['high']:.3f}]"
