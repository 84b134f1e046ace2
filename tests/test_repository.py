"""The repository at home among others: workflows, templates of issues, hooks and editors' files say what is true."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.test_docs import make_targets
from workbench.stack.gate import static_steps

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
#: Actions of the host itself; others would be pinned by their hash.
TRUSTED = re.compile(r"actions/[a-z-]+@v\d+")

workflows = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in loaded(path)["jobs"].values() for step in job["steps"]]


@workflows
def test_actions_are_pinned_and_keep_no_credentials(path: Path) -> None:
    for step in steps(path):
        if "uses" in step:
            assert TRUSTED.fullmatch(step["uses"]), step["uses"]
        if str(step.get("uses")).startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@workflows
def test_a_workflow_may_do_no_more_than_it_must(path: Path) -> None:
    found = loaded(path)
    assert found["permissions"] in ({}, {"contents": "read"})
    for job in found["jobs"].values():
        assert job["timeout-minutes"] <= 90
        assert set(job["needs"].split() if "needs" in job else ()) <= set(found["jobs"])
    for step in steps(path):
        assert "${{" not in step.get("run", ""), "an expression in a script is an injection"


@workflows
def test_what_a_workflow_runs_exists(path: Path) -> None:
    script = "\n".join(step.get("run", "") for step in steps(path))
    assert set(re.findall(r"\bmake ([a-z-]+)", script)) <= make_targets()
    for module in re.findall(r"-m ([\w.]+)", script):
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").exists(), module
    assert "make test" in script.splitlines()


def test_a_release_is_made_of_a_tag_that_passed() -> None:
    found = loaded(ROOT / ".github" / "workflows" / "release.yml")
    assert found[True] == {"push": {"tags": ["v[0-9]*"]}}  # YAML reads `on` as true
    assert found["jobs"]["release"]["needs"] == "test"


def test_hooks_are_the_steps_of_the_gate() -> None:
    (local,) = loaded(ROOT / ".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    assert {hook["language"] for hook in local["hooks"]} == {"system"}
    entries = [hook["entry"].split() for hook in local["hooks"]]
    assert all(program.startswith(".venv/bin/") for program, *_ in entries)
    hooked = {(Path(program).name, rest[0] if "ruff" in program else "") for program, *rest in entries}
    gate = {
        (Path(step.argv[0]).name, step.argv[1] if "ruff" in step.argv[0] else "")
        for step in static_steps(ROOT)
    }
    assert hooked == gate


def test_templates_of_issues_can_be_filled_in() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = loaded(path)
        if path.name == "config.yml":
            continue
        assert {"name", "description", "body"} <= set(form)
        ids = [field["id"] for field in form["body"] if field["type"] != "markdown"]
        assert len(ids) == len(set(ids))
        assert {field["type"] for field in form["body"]} <= {"markdown", "textarea", "input", "dropdown"}


def test_editors_and_dev_containers_agree_with_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    editor = (ROOT / ".editorconfig").read_text("utf-8")
    assert f"max_line_length = {project['tool']['ruff']['line-length']}" in editor
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))
    assert "make setup" in container["postCreateCommand"]
    python = re.search(r"^FROM python:([\d.]+)", (ROOT / "Dockerfile").read_text("utf-8"), re.M)[1]
    assert f"python:{python}-" in container["image"]
    for path in WORKFLOWS:
        assert {
            step["with"]["python-version"] for step in steps(path) if "setup-python" in str(step.get("uses"))
        } == {python}


@pytest.mark.parametrize(
    "name", ["CONTRIBUTING.md", "CODE_OF_CONDUCT.md", ".github/pull_request_template.md"]
)
def test_what_newcomers_read_is_true(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= make_targets()
    for target in re.findall(r"\]\(([^)#\s:]+)\)", text):
        assert (ROOT / target).exists(), target
