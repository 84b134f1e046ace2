"""What the shell and the operations pages read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.accounts.models import User


def navigation(*, user: User, path: str) -> list[dict[str, Any]]:
    """The entries of the top bar for a person."""
    return []
