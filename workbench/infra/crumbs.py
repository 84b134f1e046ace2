"""Breadcrumbs: the way from the top to a page."""

from __future__ import annotations

from typing import Protocol


class Linked(Protocol):
    """Something with a page of its own, named by ``str``."""

    def get_absolute_url(self) -> str:
        """The address of the page."""


def crumbs(*above: Linked | tuple[str, str], here: str) -> list[dict[str, str]]:
    """What stands above this page, as objects or as name and address, and the page itself."""
    steps = [one if isinstance(one, tuple) else (str(one), one.get_absolute_url()) for one in above]
    return [*({"label": label, "url": url} for label, url in steps), {"label": here}]
