"""Fixtures for tests that use the database: the cast of users, and clients logged in as them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.workbench.database import let_tests_empty_the_trail

if TYPE_CHECKING:
    from django.test import Client

    from tests.workbench.cast import Cast
    from workbench.accounts.models import User


@pytest.fixture(scope="session", autouse=True)
def _trail_can_be_emptied() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        let_tests_empty_the_trail(patch)
        yield


@pytest.fixture
def cast(db: None) -> Cast:
    """Collections alpha and beta with a member of each role, and staff (``cast.py``)."""
    from tests.workbench.cast import create_cast

    return create_cast()


@pytest.fixture
def client_as(db: None) -> Callable[[User | None], Client]:
    """``client_as(cast.analyst)`` is a browser session of that user; ``client_as(None)`` of a stranger."""
    from django.test import Client

    def make(user: User | None) -> Client:
        client = Client()
        if user is not None:
            client.force_login(user)
        return client

    return make
