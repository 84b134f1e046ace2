"""WSGI entry point."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings.dev")
application = get_wsgi_application()

from workbench.ops.metrics.files import forget_the_dead

# Loaded once, before the server forks.
forget_the_dead()
