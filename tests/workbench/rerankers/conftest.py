"""A collection whose labels are enough to learn from, and a gold set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection

from tests.workbench.cast import Cast
from tests.workbench.rerankers.makers import World, truths
from tests.workbench.scene import make_document
from workbench.accounts.models import User
from workbench.rerankers.champion import loaded_forget


@pytest.fixture(autouse=True)
def _importance_of_one_deal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The importance of features is half of a training's time here, and tests/training/test_report.py's matter."""
    monkeypatch.setattr("training.report.IMPORTANCE_REPEATS", 1)


@pytest.fixture
def world(cast: Cast, here: None) -> Iterator[World]:
    """Alpha with one document and no labels yet."""
    loaded_forget()
    _number_labels_alike()
    document = make_document(collection=cast.alpha, owner=cast.analyst)
    yield World(cast.alpha, document, cast.annotator)
    loaded_forget()


def _number_labels_alike() -> None:
    """Rows are learned in the order of their labels' keys, as text: keys with as many digits whatever ran before."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT setval(pg_get_serial_sequence('labeling_label', 'id'),"
            " greatest(1000000, (SELECT max(id) FROM labeling_label)))"
        )


@pytest.fixture
def gold(world: World) -> World:
    """The world with forty gold questions: 80 positive pairs, 160 negative ones."""
    world.gold(truths(range(1000, 1040)))
    return world


@pytest.fixture
def system(db: None) -> User:
    """Whom commands and workers act as."""
    return User.objects.system()
