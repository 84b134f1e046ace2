"""What the learning loop's integration tests do inside the running product, through its own services.

Each function is called as ``manage.py shell -c`` and prints one JSON value.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any

from tests.workbench.rerankers.makers import QUICK, World, truths
from training.fitting import TrainingConfig
from workbench.accounts.models import User
from workbench.documents.models import Collection
from workbench.labeling.models import Label
from workbench.rerankers.models import TrainingSchedule
from workbench.rerankers.services import schedule_current, training_start

#: Long enough that a test can kill the worker in the middle of it.
SLOW = TrainingConfig(architectures=("mlp-128-64-32",), epochs=4000, members=1)


def say(value: Any) -> None:
    """Prints the answer."""
    sys.stdout.write(json.dumps(value) + "\n")


def labels(first: int, count: int) -> None:
    """Labels of so many questions, and a gold set the first time."""
    collection = Collection.objects.get(slug="demo")
    world = World(collection, collection.documents.ready().first(), User.objects.system())
    if not Label.objects.filter(label_import__is_gold=True).exists():
        world.gold(truths(range(9000, 9040)))
    world.label(truths(range(first, first + count)))
    say(Label.objects.count())


def due() -> None:
    """The schedule as it is when a month has passed: its due moment lies behind, nobody has looked yet."""
    schedule_current()
    TrainingSchedule.objects.update(considered_until=datetime(2020, 1, 1, tzinfo=UTC), min_new_labels=10)
    say("due")


def start(*, slow: bool) -> None:
    """A training for the worker."""
    say(training_start(actor=User.objects.system(), config=SLOW if slow else QUICK).pk)
