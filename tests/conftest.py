"""Fixtures every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real test documents; tests that need it are skipped, saying so, where it is absent."""
    folder = Path(os.environ.get("WORKBENCH_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no shared test data at {folder}; set WORKBENCH_TEST_DATA to its folder")
    return folder
