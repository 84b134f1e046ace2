"""The prompts: every version as its file has it, what changed between two, and where each is used."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db.models import Count, F
from django.http import Http404

import arbitration
from arbitration.prompting import PROMPTS, PromptTemplate, load_prompt, prompt_names
from workbench.infra.diffs import DiffLine, line_diff
from workbench.runs.models import LLMCall

from .operations import seen_by

if TYPE_CHECKING:
    from workbench.accounts.models import User


def versions_of(name: str) -> list[int]:
    """The versions of a prompt, oldest first; empty for no such prompt."""
    if name not in prompt_names():
        return []
    numbers = [path.stem[1:] for path in (PROMPTS / name).glob("v*.md")]
    return sorted(int(number) for number in numbers if number.isdigit())


def prompt_list() -> list[dict[str, Any]]:
    return [_row(name, versions_of(name)) for name in prompt_names()]


def _row(name: str, versions: list[int], version: int | None = None) -> dict[str, Any]:
    version = versions[-1] if version is None else version
    return {
        "prompt": load_prompt(name, version=version),
        "version": version,
        "versions": versions,
        "used_in": modules_using(name),
    }


def prompt_page(
    *, user: User, name: str, version: int | None = None, against: int | None = None
) -> dict[str, Any]:
    """One version, by default the newest, with what changed since another one, by default the one before, and its calls
    in the ledger. Raises ``Http404`` for a prompt or a version that is not there."""
    versions = versions_of(name)
    if not versions or not {version, against} <= {None, *versions}:
        raise Http404
    row = _row(name, versions, version)
    if against is None:
        against = max((number for number in versions if number < row["version"]), default=None)
    prompt: PromptTemplate = row["prompt"]
    return row | {
        "placeholders": sorted(prompt.placeholders),
        "against": against,
        "diff": diff_of(load_prompt(name, version=against), prompt) if against is not None else [],
        "calls": _calls(user, prompt),
    }


def diff_of(old: PromptTemplate, new: PromptTemplate) -> list[DiffLine]:
    """Both parts line by line."""
    return line_diff(_lines(old), _lines(new))


def _lines(prompt: PromptTemplate) -> list[str]:
    return ["## System", *prompt.system.splitlines(), "## User", *prompt.user.splitlines()]


def _calls(user: User, prompt: PromptTemplate) -> list[dict[str, Any]]:
    """Calls of exactly this text, by strategy; None for those of no run."""
    return list(
        LLMCall.objects.filter(seen_by(user), prompt_name=prompt.name, prompt_hash=prompt.hash)
        .annotate(strategy=F("run__strategy"))
        .values("strategy", "stage")
        .order_by("strategy", "stage")
        .annotate(calls=Count("pk"))
    )


@lru_cache(maxsize=256)
def modules_using(name: str) -> tuple[str, ...]:
    """The engine's modules that load the prompt: those that call ``load_prompt`` and name it."""
    root = Path(arbitration.__file__).parent
    found = []
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "load_prompt(" not in text or f'"{name}"' not in text:
            continue
        constants = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
        if name in constants:
            found.append(f"arbitration.{'.'.join(path.relative_to(root).with_suffix('').parts)}")
    return tuple(found)
