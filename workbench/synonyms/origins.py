"""From which decisions a person may learn: a pair that the machine proposes quotes the document and the question of a
run, which may be hidden from them. The app of runs lies above this one and says which are (:func:`origins_open`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from django.db.models import Q

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from workbench.accounts.models import User

#: Gives the condition of the entries whose origin the person may see.
Rule = Callable[["User | AnonymousUser"], Q]

_rules: list[Rule] = []


def origins_open(rule: Rule) -> None:
    """From now on nobody sees an origin that the rule leaves out. An app says so once, when it is ready."""
    if rule not in _rules:
        _rules.append(rule)


def origin_open_to(user: User | AnonymousUser) -> Q:
    """The filter that keeps entries whose origin the person may see. Entries without one are kept."""
    return reduce(and_, (rule(user) for rule in _rules), Q())
