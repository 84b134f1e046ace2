"""Tasks of the learning loop. Only long ones go to the queue ``train``: they must not keep the small ones waiting."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from workbench.infra.dispatch import dispatch

from .lineage import overturned_mark
from .mlflow_log import training_log
from .seed import seed_register
from .services import schedule_follow, trainings_sweep
from .shadow import run_shadow
from .trainings import run_training
from .unmatched import run_match


@shared_task(name="models.train")
def train(*, run_id: int) -> None:
    run_training(run_id=run_id)


@shared_task(
    name="models.log", autoretry_for=(Exception,), max_retries=5, retry_backoff=60, retry_jitter=True
)
def log(*, run_id: int) -> None:
    training_log(run_id=run_id)


@shared_task(name="models.match")
def match(*, import_id: int) -> None:
    """Finds the candidates that the labels of an import mean."""
    run_match(import_id=import_id)


@shared_task(name="learning.shadow")
def shadow(*, run_id: int) -> None:
    run_shadow(run_id=run_id)


@shared_task(name="learning.tick")
def tick() -> None:
    """Follows the schedule, fails trainings whose worker is gone, and marks what became of labels."""
    seed_register()
    for run_id in trainings_sweep():
        dispatch(train, run_id=run_id)
    schedule_follow(now=timezone.now())
    overturned_mark()
