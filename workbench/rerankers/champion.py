"""Which model serves: the champion, loaded once per process and version, and moved by nobody but these functions.

Every run asks which version the alias names, so that a worker serves a new champion without a restart. A model that
cannot be loaded (damaged, foreign, written for other features) is refused: the last one that served in this process
keeps serving, or else the rules do, and the page says so.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import structlog
from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from arbitration.errors import ArbitrationError
from arbitration.features import pool_features
from arbitration.strategies.base import StrategyServices
from training.artifacts import Artifact, ArtifactRefused
from training.scorer import RerankerScorer, open_scorer, require_scorable
from workbench.accounts.models import User
from workbench.audit.locks import LockSpace, advisory_lock
from workbench.errors import Conflict, WorkbenchError

from .aliases import alias_move, alias_version, aliases_current, move_record
from .models import (
    AliasMove,
    AliasName,
    ModelAlias,
    ModelVersion,
    MoveKind,
    Origin,
)
from .seed import seed_card, seed_install
from .store import artifact_get

logger = structlog.get_logger(__name__)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ServedModel:
    """A loaded model under the name that verdicts carry (``v3``): the engine's ``Scorer``."""

    scorer: RerankerScorer
    number: int
    is_borrowed: bool = False  # came with the product: it learned from none of this installation's labels

    @property
    def version(self) -> str:
        """Name of the version, as recorded with each verdict."""
        return f"v{self.number}"

    @property
    def architecture(self) -> str:
        return self.scorer.architecture

    @property
    def feature_version(self) -> int:
        return self.scorer.feature_version

    @property
    def threshold(self) -> float:
        """Decision threshold chosen on validation data."""
        return self.scorer.threshold

    @cached_property
    def blend_weight(self) -> float:
        """Weight of the cosine in the ranking."""
        return self.scorer.manifest.blend_weight

    def probabilities(self, features: Floats) -> Floats:
        """Calibrated probability of being evidence; shape (n,)."""
        return self.scorer.probabilities(features)


_lock = threading.Lock()
#: By version number: the loaded model, or why it is refused. A version never changes, so neither does its entry.
_loaded: dict[int, ServedModel] = {}
_last_served: dict[str, ServedModel] = {}
#: The shipped model does not serve in this release: it is not tried again in this process.
_seed_refused = threading.Event()


def model_load(version: ModelVersion) -> ServedModel:
    """The version, ready to score. Raises :class:`training.artifacts.ArtifactRefused`."""
    with _lock:
        known = _loaded.get(version.number)
        if known is not None and known.scorer.manifest.version == version.digest:
            return known
        artifact = _artifact_of(version)
        served = ServedModel(open_scorer(artifact), version.number, version.origin == Origin.SEED)
        _loaded[version.number] = served
        return served


def is_servable(version: ModelVersion) -> bool:
    """Whether the version's files are whole and fit this code; nothing is loaded, so a page may ask."""
    try:
        require_scorable(_artifact_of(version))
    except ArbitrationError:
        return False
    return True


def _artifact_of(version: ModelVersion) -> Artifact:
    """The version's files. Raises :class:`training.artifacts.ArtifactRefused` where they are another model's."""
    artifact = artifact_get(version.digest)
    if artifact.manifest.version != version.digest or artifact.manifest.sha256 != version.manifest["sha256"]:
        raise ArtifactRefused(f"the file of {version.name} is another model; restore it from the backup")
    return artifact


def loaded_forget() -> None:
    """Empties this process's memory of loaded models."""
    with _lock:
        _loaded.clear()
        _last_served.clear()
        _seed_refused.clear()


@dataclass(frozen=True, slots=True)
class Serving:
    """What decides now. Without a ``champion``, or with one that is ``refused``, the rules do; ``shadow`` scores
    beside it."""

    champion: ModelVersion | None
    shadow: ModelVersion | None
    is_refused: bool


def serving_now() -> Serving:
    """The models in both places; a new installation takes the shipped one first. Nothing is loaded."""
    aliases = aliases_current()
    if AliasName.CHAMPION not in aliases and champion_version() is not None:
        aliases = aliases_current()
    champion = aliases.get(AliasName.CHAMPION)
    if champion is not None and is_withdrawn(champion):
        champion = None
    return Serving(
        champion=champion,
        shadow=aliases.get(AliasName.SHADOW),
        is_refused=champion is not None and not is_servable(champion),
    )


def champion_model() -> ServedModel | None:
    """The model that serves now; None where the rules do. A new installation takes the shipped one."""
    return model_served(champion_version())


def champion_version() -> ModelVersion | None:
    """The version that is to serve, without loading it; None where the rules are to."""
    version = alias_version()
    if version is None:
        return first_version()
    return None if is_withdrawn(version) else version


def is_withdrawn(version: ModelVersion) -> bool:
    """Whether it is a shipped model that ships no more: where it once became champion it stays named, and the rules
    serve until an installation's own model takes its place."""
    return version.origin == Origin.SEED and not settings.SEED_MODEL


def first_version() -> ModelVersion | None:
    """What is to serve where the alias names nothing: the shipped model, if none was ever named."""
    return _shipped() if settings.SEED_MODEL and not AliasMove.objects.exists() else None


def _shipped() -> ModelVersion | None:
    """The shipped model, put in the champion's place; None where it does not fit this release."""
    if seed_card().get("serves") and not _seed_refused.is_set():
        seeded = seed_install(actor=User.objects.system())
        if not seeded.is_champion and alias_version() is None:
            _seed_refused.set()
    return alias_version()


def model_served(version: ModelVersion | None) -> ServedModel | None:
    """What serves when the alias names this version: it, or, where it is refused, the last one that served."""
    if version is None:
        return None
    try:
        served = model_load(version)
    except ArbitrationError as error:
        logger.error("champion.refused", version=version.name, reason=str(error))
        return _last_served.get(AliasName.CHAMPION)
    _last_served[AliasName.CHAMPION] = served
    return served


def champion_state() -> str:
    """What goes into cache keys for the model in use: a rolled-back champion answers from its own cache. Every question
    asks, so only the columns that decide are read."""
    named = (
        ModelVersion.objects.filter(aliases__name=AliasName.CHAMPION)
        .only("number", "digest", "origin")
        .first()
    )
    version = first_version() if named is None else None if is_withdrawn(named) else named
    return f"{version.name}:{version.digest}" if version else "rules"


def champion_services(*, options: Mapping[str, object] | None = None, **others: Any) -> StrategyServices:
    """What a strategy may use: the champion where there is one, besides what the caller has."""
    served = champion_model()
    if served is None:
        return StrategyServices(options=options or {}, **others)
    return StrategyServices(
        scorer=served,
        is_borrowed=served.is_borrowed,
        feature_rows=pool_features,
        options={"blend_weight": served.blend_weight, **(options or {})},
        **others,
    )


# --- moving -----------------------------------------------------------------------------------------


def champion_roll_back(*, actor: User, version: ModelVersion, reason: str) -> None:
    """One act: a version that once passed serves again, with exactly its former scores.

    Raises :class:`Conflict` (serves already) or :class:`WorkbenchError` (never passed, withdrawn, not
    loadable, no reason).
    """
    reason = reason.strip()
    if not reason:
        raise WorkbenchError(_("Say why; it goes on record."), code="reason_missing")
    if version.passed_at is None:
        raise WorkbenchError(
            _("%(version)s never passed the gate, so it cannot serve.") % {"version": version},
            code="never_passed",
        )
    if is_withdrawn(version):
        raise WorkbenchError(
            _("%(version)s came with an earlier release and ships no more, so it cannot serve.")
            % {"version": version},
            code="withdrawn",
        )
    try:
        model_load(version)
    except ArbitrationError as error:
        raise WorkbenchError(
            _("%(version)s cannot be loaded: %(reason)s.") % {"version": version, "reason": error},
            code="artifact_refused",
        ) from error
    with transaction.atomic():
        advisory_lock(LockSpace.MODEL_ALIAS)
        if ModelAlias.objects.filter(name=AliasName.CHAMPION, version=version).exists():
            raise Conflict(_("%(version)s serves already.") % {"version": version})
        alias_move(AliasName.CHAMPION, version=version, kind=MoveKind.ROLLED_BACK, actor=actor, reason=reason)


def shadow_set(*, actor: User, version: ModelVersion | None) -> None:
    """Puts a model in shadow, beside the champion, or takes the one there out.

    Raises :class:`WorkbenchError` for a model that cannot be loaded, :class:`Conflict` for the champion itself.
    """
    if version is not None:
        if alias_version() == version:
            raise Conflict(_("%(version)s serves already.") % {"version": version})
        try:
            model_load(version)
        except ArbitrationError as error:
            raise WorkbenchError(str(error), code="artifact_refused") from error
    with transaction.atomic():
        advisory_lock(LockSpace.MODEL_ALIAS)
        before = alias_version(AliasName.SHADOW)
        if version is not None:
            alias_move(AliasName.SHADOW, version=version, kind=MoveKind.SHADOWED, actor=actor)
        elif before is not None:
            ModelAlias.objects.filter(name=AliasName.SHADOW).delete()
            move_record(AliasName.SHADOW, version=before, before=before, kind=MoveKind.ENDED, actor=actor)
