"""What the documents say is true: dependencies, commands, targets, settings, tables, files, links."""

from __future__ import annotations

import ast
import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted(
    [
        *(ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md", "THREAT_MODEL.md")),
        *(ROOT / "docs").rglob("*.md"),
    ]
)
#: Read by the stack and by commands, not through the settings package.
OUTSIDE_SETTINGS = {
    "HOST",
    "PORT",
    "WEB_CONCURRENCY",
    "WEB_THREADS",
    "WORKBENCH_DEMO_PASSWORD",
    "WORKBENCH_POSTGRES_BIN",
    "WORKBENCH_USER_PASSWORD",
}
#: Set for the tests by the gate; nobody sets it by hand.
INTERNAL = {"TEST_DATABASE_URL"}
#: Pictures are taken from the running product, after everything else.
PICTURES = ROOT / "docs" / "img"

#: One screen and a half: what it is, how to try it, where to go next.
README_LINES = 100

documents = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def table_rows(text: str) -> list[list[str]]:
    """The cells of every row of every table, headers and rulers left out."""
    rows = [line.strip().strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows if not set("".join(row)) <= set("-: ")]


def first_names(text: str) -> list[str]:
    """The words in backticks in the first cell of each row."""
    return [name for row in table_rows(text) for name in re.findall(r"`([^`]+)`", row[0])]


# --- dependencies -----------------------------------------------------------------------------------


def declared_dependencies() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    named = {
        normalised(re.match(r"[A-Za-z0-9._-]+", requirement)[0]) for group in groups for requirement in group
    }
    return named - {normalised(project["name"])}  # extras that are made of others


def test_every_dependency_is_justified_and_nothing_else() -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text("utf-8")

    assert set(map(normalised, first_names(text))) == declared_dependencies()


def test_every_dependency_has_a_reason_and_a_licence() -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text("utf-8")

    rows = [row for row in table_rows(text) if row[0].startswith("`")]
    assert all(len(row) == 3 and all(row) for row in rows)


# --- commands and targets ---------------------------------------------------------------------------


@documents
def test_commands_exist(document: Path) -> None:
    from django.core.management import get_commands

    lines = [line for line in document.read_text("utf-8").splitlines() if "planned" not in line]
    named = set(re.findall(r"manage\.py ([a-z_]+)", "\n".join(lines)))

    assert named <= set(get_commands())


def test_our_own_commands_are_listed() -> None:
    from django.core.management import get_commands

    ours = {name for name, app in get_commands().items() if str(app).startswith("workbench")}
    named = set(re.findall(r"manage\.py ([a-z_]+)", (ROOT / "docs" / "commands.md").read_text("utf-8")))

    assert ours <= named


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@documents
def test_make_targets_exist(document: Path) -> None:
    text = document.read_text("utf-8")
    named = set(re.findall(r"`make ([a-z-]+)", text)) | set(
        re.findall(r"^ {4}make ([a-z-]+)", text, re.MULTILINE)
    )

    assert named <= make_targets()


def test_every_make_target_is_listed() -> None:
    commands = (ROOT / "docs" / "commands.md").read_text("utf-8")
    start = commands.index("`make` has these targets")
    paragraph = commands[start:].partition("\n\n")[0]

    assert set(re.findall(r"`([a-z-]+)`", paragraph)) - {"make"} == make_targets()


# --- settings ---------------------------------------------------------------------------------------


def settings_read() -> set[str]:
    """Names read from the environment by the settings package."""
    found: set[str] = set()
    for path in (ROOT / "workbench" / "settings").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "env"
                and node.args
                and isinstance(node.args[0], ast.Constant)
            ):
                found.add(str(node.args[0].value))
    return found


def test_the_settings_tables_hold_every_variable_and_nothing_else() -> None:
    tables = (ROOT / "docs" / "settings.md").read_text("utf-8")

    assert set(first_names(tables)) == (settings_read() | OUTSIDE_SETTINGS) - INTERNAL


def settings_reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "settings_reference", ROOT / "docs" / "settings_reference.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_settings_table_has_the_defaults_of_the_code() -> None:
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")

    assert settings_reference().up_to_date(page) == page, "run `make docs` and commit docs/settings.md"


def test_an_outdated_settings_table_is_brought_up_to_date() -> None:
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    outdated = page.replace("| `EMAIL_PORT` | `25` |", "| `EMAIL_PORT` | `26` |")
    outdated = re.sub(r"^\| `PARSER_SECONDS` .*\n", "", outdated, flags=re.MULTILINE)

    made = settings_reference().up_to_date(outdated)

    assert "| `EMAIL_PORT` | `25` |" in made
    assert "| `PARSER_SECONDS` | `300` | to be described |" in made


@pytest.mark.parametrize("name", sorted(OUTSIDE_SETTINGS))
def test_variables_outside_the_settings_are_read_somewhere(name: str) -> None:
    sources = (path.read_text("utf-8") for path in (ROOT / "workbench").rglob("*.py"))

    assert any(f'"{name}"' in source for source in sources)


# --- tables, files, links ---------------------------------------------------------------------------


@documents
def test_tables_exist(document: Path) -> None:
    from django.apps import apps

    tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    prefixes = "|".join(sorted({table.partition("_")[0] for table in tables if table.startswith(OUR_TABLES)}))
    text = re.sub(r"\S+\.py\b", "", document.read_text("utf-8"))
    named = set(re.findall(rf"(?<![\w./`-])`?((?:{prefixes})_[a-z_]+)\b(?![/.(])", text))

    assert {name for name in named if name not in NOT_TABLES} <= tables


OUR_TABLES = ("accounts_", "audit_", "documents_", "questions_", "review_")
#: Functions and words with the shape of a table's name.
NOT_TABLES = {"audit_record", "review_reasons"}


@documents
def test_files_named_in_backticks_exist(document: Path) -> None:
    text = document.read_text("utf-8")
    named = re.findall(r"`((?:arbitration|training|workbench|templates|static|tests|docs)/[^`\s*]*)`", text)

    missing = [name for name in named if not (ROOT / name).exists()]
    assert missing == []


def test_the_architecture_names_every_package() -> None:
    named = set(first_names((ROOT / "docs" / "architecture.md").read_text("utf-8")))
    folders = [
        path.relative_to(ROOT).as_posix()
        for root in ("workbench", "arbitration")
        for path in (ROOT / root).iterdir()
        if path.is_dir() and path.name != "__pycache__"
    ]

    assert sorted(set(folders) - named) == []
    assert "training" in named


@documents
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text("utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path = (document.parent / target).resolve()
        assert path.exists() or path.parent == PICTURES, target


def test_the_index_of_decisions_is_complete() -> None:
    index = (ROOT / "docs" / "adr" / "README.md").read_text("utf-8")
    records = sorted(path.name for path in (ROOT / "docs" / "adr").glob("[0-9]*.md"))

    assert re.findall(r"\]\((\d{4}-[^)]+)\)", index) == records
    for name in records:
        title = (ROOT / "docs" / "adr" / name).read_text("utf-8").splitlines()[0]
        assert title.startswith(f"# {name[:4]} ")
        assert f"| {title[7:]} |" in index


def test_the_readme_tells_the_demo_logins_and_questions() -> None:
    from workbench.operations.demo.people import DEMO_PEOPLE
    from workbench.operations.demo.questions import DEMO_QUESTIONS

    readme = (ROOT / "README.md").read_text("utf-8")
    assert len(readme.splitlines()) <= README_LINES
    asked = re.findall(r"^- \*([^*]+)\*", readme, re.MULTILINE)

    assert all(f"`{person.email}`" in readme for person in DEMO_PEOPLE)
    assert asked
    assert set(asked) <= {question.text for question in DEMO_QUESTIONS}


def test_the_index_of_documents_is_complete() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")

    for path in (ROOT / "docs").glob("*.md"):
        assert path.name == "README.md" or f"]({path.name})" in index, (
            f"docs/README.md does not list {path.name}"
        )
