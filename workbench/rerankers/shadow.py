"""A model beside the champion: it scores live candidates, decides nothing, and the page compares."""

from __future__ import annotations

import structlog
from django.db.models import F

from arbitration.errors import ArbitrationError
from arbitration.features import pool_features
from arbitration.pool import CandidatePool
from workbench.infra.dispatch import dispatch_on_commit
from workbench.runs.models import Candidate, Run, RunPool

from .aliases import alias_version
from .champion import model_load
from .models import AliasName, ModelAlias, ShadowScore

logger = structlog.get_logger(__name__)


def shadow_on_commit(*, run: Run) -> None:
    """Has the model in shadow, where there is one, score a run after its verdicts are written."""
    if ModelAlias.objects.filter(name=AliasName.SHADOW).exists():
        dispatch_on_commit("learning.shadow", run_id=run.pk)


def run_shadow(*, run_id: int) -> int:
    """Scores every candidate of the run's pool once per version; returns how many it scored."""
    version = alias_version(AliasName.SHADOW)
    stored = RunPool.objects.filter(run_id=run_id).first()
    if version is None or stored is None:
        return 0
    try:
        served = model_load(version)
    except ArbitrationError as error:
        logger.warning("shadow.refused", version=version.name, reason=str(error))
        return 0
    pool = CandidatePool.model_validate(stored.body)
    if not pool.candidates:
        return 0
    probabilities = served.probabilities(pool_features(pool))
    rows = {
        row.candidate_id: row
        for row in Candidate.objects.filter(run_id=run_id).annotate(machine=F("verdict__probability"))
    }
    scores = [
        ShadowScore(
            version=version,
            candidate=rows[candidate.candidate_id],
            probability=float(probability),
            champion_probability=rows[candidate.candidate_id].machine,
        )
        for candidate, probability in zip(pool.candidates, probabilities, strict=True)
        if candidate.candidate_id in rows
    ]
    ShadowScore.objects.bulk_create(scores, ignore_conflicts=True)
    return len(scores)
