"""What an installation keeps is readable for its owner only, also where an older version left it open."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from celery.signals import worker_init

from tests.workbench.scene import Scene
from workbench import celery
from workbench.documents import pages
from workbench.documents.lexical import lexical_index
from workbench.private import FILES, FOLDERS, close_home, private_folder
from workbench.stack.home import Home


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def an_old_home(root: Path) -> Path:
    """As made under a lax umask."""
    for name in (*FOLDERS, "static"):
        (root / name).mkdir(parents=True)
        (root / name).chmod(0o755)
    for name in (*FILES, "notes.txt"):
        (root / name).write_text("{}")
        (root / name).chmod(0o644)
    return root


def test_missing_folders_are_made_for_the_owner_only(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(mode=0o755)
    private_folder(tmp_path / "there" / "cache" / "pages" / "1")
    assert mode(tmp_path / "there") == 0o755
    for name in ("there/cache", "there/cache/pages", "there/cache/pages/1"):
        assert mode(tmp_path / name) == 0o700


def test_an_old_home_is_closed_and_the_rest_left_alone(tmp_path: Path) -> None:
    home = an_old_home(tmp_path / "home")
    assert set(close_home(home)) == {*FOLDERS, *FILES}
    assert {mode(home / name) for name in FOLDERS} == {0o700}
    assert {mode(home / name) for name in FILES} == {0o600}
    assert (mode(home / "static"), mode(home / "notes.txt")) == (0o755, 0o644)
    assert close_home(home) == []


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o755)
    (tmp_path / "cache").symlink_to(elsewhere)
    assert close_home(tmp_path) == []
    assert mode(elsewhere) == 0o755


def test_the_stack_closes_it_when_it_starts(tmp_path: Path) -> None:
    home = Home(an_old_home(tmp_path / "home"))
    home.create()
    assert mode(home.root / "cache") == 0o700
    assert mode(home.secrets_file) == 0o600


def test_so_does_a_worker(tmp_path: Path, settings: Any) -> None:
    settings.WORKBENCH_HOME = an_old_home(tmp_path / "home")
    assert celery.take_the_home_from_others in [receiver() for _, receiver in worker_init.receivers]
    celery.take_the_home_from_others()
    assert mode(settings.WORKBENCH_HOME / "cache") == 0o700


@pytest.mark.django_db
def test_nothing_the_product_writes_is_open(
    scene: Scene, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WORKBENCH_HOME = tmp_path / "home"
    settings.WORKBENCH_HOME.mkdir()
    pages._write(pages.cache_folder(scene.document) / "1.png", b"image")
    lexical_index(scene.document.collection)
    seen = [path for path in settings.WORKBENCH_HOME.rglob("*") if path.is_dir()]
    assert {"cache", "index"} <= {path.name for path in seen}
    assert {path: oct(mode(path)) for path in seen if mode(path) & 0o077} == {}
