"""The Celery application of beat: ``celery -A workbench.schedule:app beat``.

Beat names tasks and runs none, so it needs settings and no more: without the product's models, pages and engine it
takes a third of the memory.
"""

from __future__ import annotations

import os

from celery import Celery
from django.conf import settings
from django.utils.log import configure_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings.dev")

#: No fix-ups: that for Django would load every application.
app = Celery("workbench", fixups=[])
app.config_from_object("django.conf:settings", namespace="CELERY")
configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
