from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from workbench.stack import postgres

GB = 1024**3


@pytest.mark.parametrize(
    ("memory", "buffers", "cache"),
    [(GB // 2, "128MB", "256MB"), (4 * GB, "512MB", "2048MB"), (24 * GB, "2048MB", "12288MB")],
)
def test_postgresql_takes_its_share_of_the_memory(memory: int, buffers: str, cache: str) -> None:
    assert postgres.memory_settings(memory) == {"shared_buffers": buffers, "effective_cache_size": cache}


@pytest.mark.parametrize(("said", "counts"), [("1073741824\n", True), ("max\n", False), ("", False)])
def test_a_containers_limit_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, counts: bool
) -> None:
    limit = tmp_path / "memory.max"
    limit.write_text(said)
    monkeypatch.setattr(postgres, "CONTAINER_LIMITS", (limit, tmp_path / "none"))

    assert postgres.memory_bytes() == (GB if counts else psutil.virtual_memory().total)
