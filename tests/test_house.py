"""The apps of ``workbench`` stand on each other in one order. Which one, the contract of import-linter says; here what
it does not see: whether two apps import each other, and imports that hide inside functions."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OURS = ("arbitration", "training", "workbench")
#: Imports of our own packages inside functions that are worth it; each says why where it stands.
MOST_INNER = 5
#: A child process parses one file, and loads the parser of its kind alone.
LOADED_BY_KIND = "arbitration/parsing/"


@dataclass(frozen=True, slots=True)
class Import:
    """One module that a file imports; ``is_inner``: inside a function, so that it is read when the function runs."""

    file: str
    line: int
    module: str
    is_inner: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module}"


def imports_of(source: str, *, file: str) -> Iterator[Import]:
    """What a file imports of our own packages, without what only type checkers read."""
    tree = ast.parse(source)
    inner, unread = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner.update(map(id, ast.walk(node)))
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            unread.update(map(id, ast.walk(node)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in unread:
            for module in _modules(node, file=file):
                if module.split(".")[0] in OURS:
                    yield Import(file, node.lineno, module, id(node) in inner)


def _modules(node: ast.Import | ast.ImportFrom, *, file: str) -> list[str]:
    """Full names; of ``from . import a`` and ``from workbench import a`` that of ``a``."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    package = list(Path(file).with_suffix("").parts[:-1])
    above = package[: len(package) - node.level + 1] if node.level else []
    base = ".".join([*above, *([node.module] if node.module else [])])
    names_modules = base == "workbench" or (node.level and not node.module)
    return [f"{base}.{alias.name}" for alias in node.names] if names_modules else [base]


def app_of(module: str) -> str | None:
    """The app of a module of ``workbench``."""
    package, _, rest = module.partition(".")
    return rest.split(".")[0] if package == "workbench" and rest else None


def mutual_pairs(imports: list[Import]) -> dict[tuple[str, str], list[Import]]:
    """Two apps that import each other, with the imports of the one that does so less often."""
    arrows: dict[tuple[str, str], list[Import]] = defaultdict(list)
    for found in imports:
        importer = app_of(".".join(Path(found.file).with_suffix("").parts))
        imported = app_of(found.module)
        if importer and imported and importer != imported:
            arrows[importer, imported].append(found)
    return {
        (a, b): min(there, arrows[b, a], key=len)
        for (a, b), there in dict(arrows).items()
        if a < b and (b, a) in arrows
    }


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    files = [path for name in OURS for path in sorted((ROOT / name).rglob("*.py"))]
    return [
        found
        for path in files
        if "migrations" not in path.parts
        for found in imports_of(path.read_text("utf-8"), file=path.relative_to(ROOT).as_posix())
    ]


def test_no_two_apps_import_each_other(imports: list[Import]) -> None:
    pairs = mutual_pairs(imports)
    told = [f"{a} and {b}: {', '.join(map(str, arrows))}" for (a, b), arrows in pairs.items()]
    assert not pairs, "the lower app publishes an event or offers a registry instead:\n" + "\n".join(told)


def test_imports_do_not_hide_inside_functions(imports: list[Import]) -> None:
    inner = [str(found) for found in imports if found.is_inner and not found.file.startswith(LOADED_BY_KIND)]
    assert len(inner) <= MOST_INNER, f"move imports to the top, {MOST_INNER} may stay:\n" + "\n".join(inner)


SOURCE = """
from __future__ import annotations
from typing import TYPE_CHECKING
import training.gate
from workbench import errors
from . import services
from ..review.models import Review
if TYPE_CHECKING:
    from workbench.labeling.models import Label
def late():
    from workbench.api import tokens
"""


def test_every_way_of_importing_is_seen() -> None:
    found = list(imports_of(SOURCE, file="workbench/runs/views.py"))
    assert [(one.module, one.is_inner) for one in found] == [
        ("training.gate", False),
        ("workbench.errors", False),
        ("workbench.runs.services", False),
        ("workbench.review.models", False),
        ("workbench.api", True),
    ]


def test_two_apps_that_import_each_other_are_found() -> None:
    down = Import("workbench/review/services.py", 1, "workbench.runs.models", is_inner=False)
    more = Import("workbench/review/queue.py", 2, "workbench.runs.models", is_inner=False)
    up = Import("workbench/runs/cards.py", 3, "workbench.review.blindness", is_inner=True)
    own = Import("workbench/runs/cards.py", 4, "workbench.runs.models", is_inner=False)
    assert mutual_pairs([down, more, own]) == {}
    assert mutual_pairs([down, more, up, own]) == {("review", "runs"): [up]}
