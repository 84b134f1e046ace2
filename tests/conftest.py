"""Fixtures every test may use."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from pytest_django.plugin import blocking_manager_key
from xdist.scheduler import LoadScopeScheduling

from tests.standing import STANDING, begins_with_the_scene

if TYPE_CHECKING:
    from tests.product import RunningProduct

ROOT = Path(__file__).resolve().parent.parent
STACK = ROOT / "tests" / "workbench" / "stack"
#: What ends the running product, while it runs.
RUNNING = pytest.StashKey[ExitStack]()

if os.environ.get("TEST_DATABASE_URL"):
    # The product's addresses need it. Reading its docstrings, pydantic walks the stack and all modules loaded so far:
    # here both are a fraction of what they are while a test's module is being read.
    import scim2_models  # noqa: F401

# Machines are shared and slow at times: no deadline per example, and the same examples in every run.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")


@cache
def asks_the_product(file: str) -> bool:
    """Whether the tests of a file share the running product; those of tests/e2e have one of their own."""
    return not file.startswith("tests/e2e/") and "RunningProduct" in (ROOT / file).read_text("utf-8")


def needs_the_product(item: pytest.Item) -> bool:
    """Whether a test shares the running product."""
    return asks_the_product(str(item.path.relative_to(ROOT)))


class _ByFile(LoadScopeScheduling):
    """A file stays in one process, as its fixtures like it, and all that share a running product in one, so that there
    is one product. The groups of ``loadgroup`` would say the same, but xdist 3.8 and pytest 9.2 lose them."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "the running product" if asks_the_product(file) else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """``--dist loadfile`` by :class:`_ByFile`."""
    return _ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the running product come first, although they use no test database: they wait most of the time, and at
    the end nobody would be left to fill the other core. Then those that begin with the scene, in a row."""
    items.sort(key=lambda item: (not needs_the_product(item), not begins_with_the_scene(item)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The scene of earlier tests does not stand where another begins without it."""
    if not begins_with_the_scene(item):
        with item.config.stash[blocking_manager_key].unblock():
            STANDING.end()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """The running product ends with the last test that asks it: its workers and its clock would go on beside all
    others."""
    if nextitem and not needs_the_product(nextitem):
        item.config.stash.get(RUNNING, ExitStack()).close()


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the collector need not walk a million objects again and again to find that."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Tests of the stack that need no service are ``bare``."""
    if item.path.is_relative_to(STACK) and not item.get_closest_marker("integration"):
        item.add_marker(pytest.mark.bare)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real test documents; tests that need it are skipped, saying so, where it is absent."""
    folder = Path(os.environ.get("WORKBENCH_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no shared test data at {folder}; set WORKBENCH_TEST_DATA to its folder")
    return folder


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None,
    django_db_use_migrations: bool,
    django_db_blocker: Any,
) -> None:
    """The test database is a copy of one that was migrated once (``database_template.py``)."""
    from django.db import connection

    from tests.database_template import ensure_template

    if django_db_use_migrations and connection.vendor == "postgresql":
        with django_db_blocker.unblock():
            connection.settings_dict["TEST"]["TEMPLATE"] = ensure_template(connection)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """No thread keeps a session in the test database when it is dropped."""
    yield
    from arbitration.detection import end_threads

    with django_db_blocker.unblock():
        STANDING.end()
    end_threads()
    gc.collect()  # a connection that its thread left is closed with its last reference


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """One Chromium for all browser tests; each visitor has a profile of their own in it. There is one, since a process
    can hold only one driver of this kind."""
    from tests.e2e.browser import chromium

    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def product(pytestconfig: pytest.Config) -> Iterator[RunningProduct]:
    """The product, running, with its demo documents ready; tests/e2e has one of its own."""
    from tests.product import await_demo, running_product

    with ExitStack() as ending:
        pytestconfig.stash[RUNNING] = ending
        running = ending.enter_context(running_product({"DJANGO_SETTINGS_MODULE": "tests.integration.dev"}))
        await_demo(running)
        yield running
