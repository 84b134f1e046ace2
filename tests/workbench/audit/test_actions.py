"""Every kind of event stands in one place, with what people call it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from django.utils import translation

from workbench.accounts.models import User
from workbench.audit.actions import Action, label_of
from workbench.audit.services import audit_record
from workbench.audit.verifier import EXPORT_ACTION
from workbench.webhooks.events import EVENTS, TEST

ROOT = Path(__file__).resolve().parents[3]
#: Reads exports where nothing of ours is installed, and so names its one action itself.
ALONE = ROOT / "workbench" / "audit" / "verifier.py"
#: What the sources write otherwise than as a member's name.
MADE_OF_PARTS = {"account.", "model."}


def modules() -> list[Path]:
    own = (ROOT / "workbench").rglob("*.py")
    return [path for path in own if "migrations" not in path.parts and path != ALONE]


def test_values_follow_from_names() -> None:
    assert all(action.name == action.value.upper().replace(".", "_") for action in Action)


def test_no_call_names_an_action_by_a_literal() -> None:
    literal = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                given = [word.value for word in node.keywords if word.arg == "action"]
                literal += [
                    f"{path.relative_to(ROOT)}:{value.lineno}"
                    for value in given
                    if isinstance(value, ast.Constant) and value.value in Action.values
                ]
    assert literal == []


def test_every_action_is_used() -> None:
    source = "\n".join(path.read_text("utf-8") for path in modules() if path.name != "actions.py")
    unused = {
        action.value
        for action in Action
        if f"Action.{action.name}" not in source
        and not any(action.value.startswith(part) for part in MADE_OF_PARTS)
        and action.value != EXPORT_ACTION
    }
    assert unused == set()


def test_labels_differ_and_are_translated() -> None:
    english = [str(action.label) for action in Action]
    with translation.override("es"):
        spanish = [str(action.label) for action in Action]
    assert len(set(english)) == len(set(spanish)) == len(Action)
    assert not set(english) & set(spanish)


def test_what_an_earlier_version_wrote_is_told_by_its_code() -> None:
    assert label_of("verdict.approved") == "Verdict approved"
    assert label_of("verdict.sung") == "verdict.sung"


def test_webhooks_tell_of_known_actions() -> None:
    assert set(EVENTS) <= set(Action)
    assert TEST not in Action.values


@pytest.mark.django_db
def test_an_unknown_action_is_not_recorded() -> None:
    with pytest.raises(ValueError, match=r"verdict\.sung"):
        audit_record(actor=User.objects.system(), action="verdict.sung")
