"""Events that some people must not read yet. The apps that know say so; the trail itself stays whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.db.models import Q

    from workbench.accounts.models import User

#: Gives the condition of the events that are kept from a person.
Rule = Callable[["User"], "Q"]

_rules: list[Rule] = []


def withhold(rule: Rule) -> None:
    """From now on no person reads the events that the rule keeps from them. An app says so once, when it is ready."""
    if rule not in _rules:
        _rules.append(rule)


def withheld_from(user: User) -> Iterator[Q]:
    """The conditions of the events that this person must not read yet."""
    return (rule(user) for rule in _rules)
