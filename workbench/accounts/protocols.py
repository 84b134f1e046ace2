"""What accounts and the trail, which stand below documents, know of a collection."""

from __future__ import annotations

from typing import Protocol


class Collection(Protocol):
    """The border that memberships and events belong to: a row of ``documents.Collection``."""

    @property
    def pk(self) -> int: ...
    @property
    def slug(self) -> str: ...
