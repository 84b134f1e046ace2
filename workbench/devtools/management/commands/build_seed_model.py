"""``manage.py build_seed_model DIR...``: the model that ships, from openly licensed labelled sets only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from arbitration.errors import ArbitrationError
from arbitration.evaluation.datasets import load_dataset
from arbitration.features import FEATURE_VERSION
from training.artifacts import write_artifact
from workbench.devtools.seed_build import beats_rules, seed_sets, seed_train, shortfall, training_documents
from workbench.documents.embedding import active_space
from workbench.infra.commands import JsonCommand
from workbench.rerankers.seed import CARD, FOLDER

#: Sets that may be trained on, with what their licences ask to be said.
LICENCES = {
    "cuad": "CUAD v1, The Atticus Project, CC BY 4.0",
    "contractnli": "ContractNLI, Koreeda and Manning 2021, CC BY 4.0",
    "arf_us_constitution": "US Constitution (public domain); queries of jager47X/ARF, MIT",
}


class Command(JsonCommand):
    """Trains and measures the seed model."""

    help = "Builds the shipped model and its card from CUAD, ContractNLI and US Constitution labels."

    def add_arguments(self, parser: CommandParser) -> None:
        """Folders of labelled sets; where to write."""
        super().add_arguments(parser)
        parser.add_argument("folders", nargs="+", metavar="DIR", type=Path)
        parser.add_argument(
            "--documents", type=int, default=60, help="number of documents to draw from each set"
        )
        parser.add_argument(
            "--not-champion",
            default="",
            metavar="WHY",
            help="ship the model without making it champion, for this reason",
        )
        parser.add_argument(
            "--out", type=Path, default=FOLDER, help="output folder for the model and its card"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Labels, trains, measures, writes."""
        try:
            datasets = [load_dataset(folder) for folder in options["folders"]]
            foreign = [dataset.name for dataset in datasets if dataset.name not in LICENCES]
            if foreign:
                raise CommandError(
                    f"{', '.join(foreign)} may not be shipped in a model; there are: {', '.join(LICENCES)}."
                )
            sets = seed_sets(datasets, documents=options["documents"], tell=self.note)
            model = seed_train(sets, embedding_space=active_space().name)
        except ArbitrationError as error:
            raise CommandError(str(error)) from error
        card = {
            "name": "seed model",
            "feature_version": FEATURE_VERSION,
            "architecture": model.trained.artifact.manifest.architecture,
            "digest": model.trained.artifact.manifest.version,
            "licences": [LICENCES[dataset.name] for dataset in datasets],
            "documents": training_documents(datasets, documents=options["documents"]),
            "passes_floor": beats_rules(model.card),
            "serves": beats_rules(model.card) and not options["not_champion"],
            "why_not": options["not_champion"] or shortfall(model.card),
            **model.card,
        }
        write_artifact(options["out"], model.trained.artifact)
        (options["out"] / CARD).write_text(json.dumps(card, indent=1, sort_keys=True) + "\n", "utf-8")
        self.emit(card, human=_in_words)


def _in_words(card: dict[str, Any]) -> str:
    lines = [f"{card['architecture']} of {card['pairs']} pairs; serves: {card['serves']}"]
    for part in ("held_out_documents", "held_out_questions"):
        for name, row in card[part].items():
            figures = "; ".join(
                f"{side} F1 {row[side]['f1']:.3f} MRR {row[side]['mrr']:.3f} AUC {row[side]['roc_auc']:.3f}"
                for side in ("model", "rules", "semantic")
            )
            lines.append(f"{part} {name} ({row['questions']} questions, {row['lists']} lists): {figures}")
    return "\n".join(lines)
