from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from workbench.labeling.matching import Unmatched
    from workbench.labeling.models import Label


class RerankersConfig(AppConfig):
    name = "workbench.rerankers"
    label = "models_registry"  # of the tables and migrations, from before the app was named rerankers

    def ready(self) -> None:
        from workbench.labeling.matching import matchers_register

        matchers_register(here=_match_here, by_worker=_match_by_worker)


# The engine comes with these: only a process that matches pays for it.


def _match_here(labels: Sequence[Label], are_stored: bool) -> Unmatched:
    from .unmatched import match_here

    return match_here(labels, are_stored)


def _match_by_worker(labels: Sequence[Label], are_stored: bool) -> Unmatched:
    from .unmatched import match_by_worker

    return match_by_worker(labels, are_stored)
