"""``manage.py calibrate --collection SLUG | --labels DIR``: proposes thresholds; an admin applies them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from arbitration.errors import ArbitrationError
from training.bars import Decides
from training.risk import SHIPPED_LOSS
from workbench.accounts.models import User
from workbench.collection_settings.models import BarProposal, GateProposal
from workbench.collection_settings.selectors import gates_of
from workbench.collection_settings.services import proposal_create
from workbench.documents.models import Collection
from workbench.infra.commands import JsonCommand
from workbench.operations.bars import bar_propose
from workbench.operations.calibration import calibration_of_collection, calibration_of_folder


class Command(JsonCommand):
    help = "Proposes gate thresholds from labels. An admin must apply the proposal before it takes effect."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument(
            "--collection", metavar="SLUG", help="calibrate from people's decisions in this collection"
        )
        source.add_argument("--labels", type=Path, metavar="DIR", help="calibrate from a labelled set")
        parser.add_argument(
            "--promise",
            type=float,
            default=100 * SHIPPED_LOSS,
            metavar="PERCENT",
            help=(
                "with --collection: largest accepted percentage of questions that lose their evidence unseen, and"
                " of wrongly accepted passages (default: %(default)g)"
            ),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        collection = None
        if options["collection"]:
            collection = Collection.objects.filter(slug=options["collection"]).first()
            if collection is None:
                raise CommandError(f"There is no collection {options['collection']!r}.")
        try:
            if collection is not None:
                calibration = calibration_of_collection(collection=collection)
                source = f"decisions in {collection.slug}"
            else:
                calibration = calibration_of_folder(folder=options["labels"], limit=None, tell=self._tell)
                source = f"labels in {options['labels'].resolve().name}"
        except ArbitrationError as error:
            raise CommandError(str(error)) from error
        system = User.objects.system()
        proposal = proposal_create(
            actor=system, collection=collection, calibration=calibration, source=source
        )
        risk = {
            decides.value: _risk(
                bar_propose(
                    actor=system,
                    collection=collection,
                    decides=decides,
                    promised=options["promise"] / 100,
                    tell=lambda done, total: self._tell(f"{done} of {total} questions"),
                )
            )
            for decides in (Decides if collection is not None else ())
            if collection is not None
        }
        self.emit(_value(proposal, collection) | {"risk": risk or None}, human=_human)

    def _tell(self, text: str) -> None:
        if sys.stderr.isatty():
            self.stderr.write(text, ending="\r")


def _value(proposal: GateProposal, collection: Collection | None) -> dict[str, Any]:
    current = gates_of(collection=collection) if collection else None
    return {
        "proposal": proposal.pk,
        "collection": collection.slug if collection else None,
        "source": proposal.source,
        "embedding_space": proposal.space,
        "questions": proposal.questions,
        "evidence": proposal.evidence,
        "evidence_lost": proposal.evidence_lost,
        "rejected_share": proposal.rejected_share,
        "accepted_share": proposal.accepted_share,
        "accepted_precision": proposal.accepted_precision,
        "gates": proposal.profile.model_dump(mode="json"),
        "current": current.model_dump(mode="json") if current else None,
        "applied": False,
    }


def _risk(proposal: BarProposal) -> dict[str, Any]:
    return {
        "proposal": proposal.pk,
        "promised": proposal.promised,
        "measure": proposal.measure,
        "bar": proposal.bar,
        "in_use": proposal.in_use,
        "questions": proposal.groups,
        "needed": proposal.needed,
        "missing": proposal.missing,
        "learned": proposal.learned,
        "ways": proposal.ways,
    }


def _human(value: dict[str, Any]) -> str:
    gates = value["gates"]
    return "\n".join(
        [
            f"Proposal {value['proposal']} from {value['source']}: {value['questions']} questions, "
            f"{value['evidence']} pieces of evidence",
            f"  minimum {gates['minimum']:.3f}  verify {gates['verify']:.3f}  accept {gates['accept']:.3f}  "
            f"gap {gates['gap']:.3f}",
            f"  would reject {value['rejected_share']:.1%} of the candidates and lose "
            f"{value['evidence_lost']:.2%} of the evidence",
            *(_human_risk(decides, risk) for decides, risk in (value["risk"] or {}).items()),
            "Nothing has changed yet. An admin can apply the proposal on the collection's settings page.",
        ]
    )


def _human_risk(decides: str, risk: dict[str, Any]) -> str:
    says = f"  {decides}: at most {risk['promised']:.0%}, from {risk['questions']} decided questions: "
    if risk["missing"]:
        return says + f"{risk['missing']} more are needed; the shipped default stays"
    if risk["bar"] is None:
        return says + "no threshold keeps this; the shipped default stays"
    way = next(way for way in risk["ways"] if way["bar"] == risk["bar"])
    return says + f"threshold {way['seen']:g} ({risk['measure']}), {way['cards']:.1f} cards per question"
