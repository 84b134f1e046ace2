"""A task is sent by its name: every name that the product sends is that of a task."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from celery.exceptions import NotRegistered

from workbench.infra.dispatch import dispatch_on_commit, task_named

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


MANY_AT_ONCE = """
import os, threading
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings.test")
import django
django.setup()
from workbench.infra.dispatch import dispatch_on_commit, task_named
ready, lost = threading.Barrier(8), []
def ask():
    ready.wait()
    try:
        task_named("documents.ingest")
    except KeyError as error:
        lost.append(error)
threads = [threading.Thread(target=ask) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not lost, lost
"""


def test_the_first_tasks_of_a_web_process_may_be_sent_by_several_threads() -> None:
    """Two files that were uploaded at once: the second upload was answered with 500."""
    done = subprocess.run([sys.executable, "-c", MANY_AT_ONCE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.django_db(transaction=True)
def test_what_goes_wrong_after_the_commit_is_logged_and_fails_no_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    dispatch_on_commit("no.such_task")
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [NotRegistered]
