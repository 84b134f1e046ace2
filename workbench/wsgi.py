"""WSGI entry point."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings.dev")

from django.core.wsgi import get_wsgi_application

from workbench.ops.metrics.files import forget_the_dead
from workbench.ops.tracing import start_tracing

start_tracing()  # before the middlewares are loaded
application = get_wsgi_application()
# This module is loaded once, before the server forks.
forget_the_dead()
