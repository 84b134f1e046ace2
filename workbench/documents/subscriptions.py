"""What documents listen to: a host looks for copies of erased ones after its tasks and requests, a worker says what its
parsers lack, and the trail keeps what is restricted."""

from __future__ import annotations

from celery.signals import task_postrun, worker_init
from django.core.signals import request_finished

from workbench.audit.withholding import withhold

from . import checks  # noqa: F401  (registers itself)
from .copies import copies_sweep_if_due
from .parser_doors import log_open_doors
from .restrictions import events_hidden

task_postrun.connect(copies_sweep_if_due, weak=False, dispatch_uid="documents.copies")
worker_init.connect(log_open_doors, weak=False, dispatch_uid="documents.parser_doors")
request_finished.connect(copies_sweep_if_due, weak=False, dispatch_uid="documents.copies")
withhold(events_hidden)
