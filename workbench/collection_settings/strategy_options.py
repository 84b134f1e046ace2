"""The settings of strategies, as a collection holds them and a question changes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from arbitration.errors import StrategyUnavailable
from arbitration.strategies.settable import checked_options
from workbench.documents.models import Collection
from workbench.errors import WorkbenchError


def options_for(
    *, collection: Collection, strategy: str, given: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """What is set of a strategy for a question: the collection's settings, changed by those of the question.

    Raises :class:`WorkbenchError` for a setting that the strategy does not have, or a value out of range.
    """
    own = (collection.strategy_options or {}).get(strategy, {})
    return own | options_checked(strategy=strategy, given=given or {})


def options_checked(*, strategy: str, given: Mapping[str, object]) -> dict[str, Any]:
    """The settings given, each valid. Raises :class:`WorkbenchError` saying which is not."""
    try:
        return checked_options(strategy, given)
    except StrategyUnavailable as error:
        raise WorkbenchError(
            _("These settings of “%(name)s” are not valid: %(why)s") % {"name": strategy, "why": error},
            code="strategy_options",
        ) from error
