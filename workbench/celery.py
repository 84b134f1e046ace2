"""The Celery application: ``celery -A workbench.celery:app``."""

from __future__ import annotations

import os

from celery import Celery

# Before the app is built: delay_on_commit needs Django's settings.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings.dev")

app = Celery("workbench")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
