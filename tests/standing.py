"""The cast and the scene, made once for the many tests that begin with them.

They are made in a transaction around those of the tests: each test takes back what it did itself, and gets objects and
files of its own to change. The transaction stays open from test to test, so a test that begins without the scene, or
commits, has it taken back first (`tests/conftest.py`).
"""

from __future__ import annotations

import pickle
import shutil
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.workbench.cast import Cast
    from tests.workbench.scene import Scene


def begins_with_the_scene(item: pytest.Item) -> bool:
    """Whether the test asks for the scene and takes back what it does."""
    fixtures = getattr(item, "fixturenames", ())
    marker = item.get_closest_marker("django_db")
    commits = "transactional_db" in fixtures or bool(marker and marker.kwargs.get("transaction"))
    return "scene" in fixtures and not commits


class Standing:
    """What stands in this process. Database access must be open for each of its acts."""

    def __init__(self) -> None:
        self._around = ExitStack()
        self._folder = Path()
        self._made: bytes | None = None

    def ensure(self) -> None:
        """Makes cast and scene unless they stand. No transaction may be open."""
        from django.db import transaction
        from django.test import override_settings

        from tests.workbench.cast import create_cast
        from tests.workbench.scene import make_scene, work_here

        if self._made is not None:
            return
        self._folder = Path(self._around.enter_context(TemporaryDirectory(prefix="workbench-scene-")))
        self._around.enter_context(transaction.atomic())
        try:
            with pytest.MonkeyPatch.context() as patch, override_settings(**work_here(patch, self._folder)):
                cast = create_cast()
                self._made = pickle.dumps((cast, make_scene(cast)))
        finally:
            if self._made is None:
                self._take_back()

    def end(self) -> None:
        """Takes both back, if they stand."""
        if self._made is not None:
            self._take_back()

    def copy(self, folder: Path) -> tuple[Cast, Scene] | None:
        """Both for one test, their files in the folder; None where they do not stand."""
        if self._made is None:
            return None
        shutil.copytree(self._folder, folder, dirs_exist_ok=True)
        made: tuple[Cast, Scene] = pickle.loads(self._made)
        return made

    def _take_back(self) -> None:
        from django.db import transaction

        transaction.set_rollback(True)
        self._around.close()
        self._made = None


STANDING = Standing()
