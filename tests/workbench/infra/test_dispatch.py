"""A task is sent by its name: every name that the product sends is that of a task."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from workbench.infra.dispatch import task_named

PRODUCT = Path(__file__).resolve().parents[3] / "workbench"


def names_sent() -> set[str]:
    calls = [
        node
        for path in PRODUCT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
    ]
    return {
        str(call.args[0].value)
        for call in calls
        if call.func.id in {"dispatch", "dispatch_on_commit"} and isinstance(call.args[0], ast.Constant)
    }


def test_every_name_is_that_of_a_task() -> None:
    names = names_sent()
    assert {"documents.ingest", "questions.detect", "documents.erase"} <= names
    assert [name for name in sorted(names) if task_named(name).name != name] == []


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(KeyError):
        task_named("no.such_task")
