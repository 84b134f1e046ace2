"""The built package, and an environment that has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.package.installing import Built, build, install


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def programs(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` folder of an environment that holds the wheel."""
    return install(built.wheel, tmp_path_factory.mktemp("installed") / "venv")
