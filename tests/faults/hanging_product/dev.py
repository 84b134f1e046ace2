"""The settings of a product under test that can be hung by a model's reason."""

from __future__ import annotations

from tests.integration.dev import *  # noqa: F403
from tests.integration.dev import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.faults.hanging_product.HangingConfig"]
