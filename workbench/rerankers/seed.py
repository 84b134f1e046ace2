"""The model that ships: trained from openly licensed labels only, so that a new installation ranks well at once.

Its artifact and card lie in ``seed_model/`` beside this module, made by ``manage.py build_seed_model``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now

from training.artifacts import ArtifactRefused, read_artifact
from training.scorer import open_scorer
from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.locks import LockSpace, advisory_lock
from workbench.audit.services import audit_record

from .aliases import champion_seed
from .models import ModelVersion, Origin
from .store import artifact_put

logger = structlog.get_logger(__name__)

FOLDER = Path(__file__).with_name("seed_model")
CARD = "card.json"


@dataclass(frozen=True, slots=True)
class Seeded:
    """What became of the shipped model; ``reason`` says why it is not in use, where it is not."""

    version: ModelVersion | None
    is_champion: bool
    reason: str = ""


def seed_card(folder: Path | None = None) -> dict[str, Any]:
    """Data and held-out figures of the shipped model; empty where none ships."""
    path = (folder or FOLDER) / CARD
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def seed_register() -> None:
    """Puts the shipped model on record where it is not yet; for commands and the worker, which have time for it."""
    digest = seed_card().get("digest")
    if settings.SEED_MODEL and digest and not ModelVersion.objects.filter(digest=digest).exists():
        seed_install(actor=User.objects.system())


def seed_install(*, actor: User, folder: Path | None = None) -> Seeded:
    """Registers the shipped model, and makes it the champion of an installation that has none. Idempotent.

    A model for other features or another scikit-learn is left out: the rules serve until a training deploys.
    """
    folder = folder or FOLDER
    if not (folder / CARD).is_file():
        return Seeded(None, is_champion=False, reason="no model ships with this release")
    try:
        artifact = read_artifact(folder)
        open_scorer(artifact)
    except ArtifactRefused as error:
        logger.warning("seed.refused", reason=str(error))
        return Seeded(None, is_champion=False, reason=str(error))
    manifest, card = artifact.manifest, seed_card(folder)
    with transaction.atomic():
        advisory_lock(LockSpace.MODEL_ALIAS)  # two first questions at once
        version = ModelVersion.objects.filter(digest=manifest.version).first()
        if version is None:
            artifact_put(artifact)
            number = ModelVersion.objects.aggregate(last=Max("number"))["last"] or 0
            version = ModelVersion.objects.create(
                number=number + 1,
                digest=manifest.version,
                origin=Origin.SEED,
                architecture=manifest.architecture,
                feature_version=manifest.feature_version,
                threshold=manifest.threshold,
                manifest=manifest.model_dump(mode="json"),
                report=card.get("report", {}),
                passed_at=Now() if card.get("serves", False) else None,
            )
            audit_record(
                actor=actor,
                action=Action.MODEL_SEED_REGISTERED,
                obj=version,
                after={"digest": manifest.version},
            )
    if not card.get("serves", False):
        return Seeded(version, is_champion=False, reason=str(card.get("why_not", "")))
    return Seeded(version, is_champion=champion_seed(actor=actor, version=version))
