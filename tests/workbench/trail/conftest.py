"""Events to read, as the tests of the trail itself make them."""

from __future__ import annotations

from tests.workbench.audit.conftest import actor, record

__all__ = ["actor", "record"]
