"""Tasks carry the request they come from, and are counted."""

from workbench.infra import task_context

from .metrics import listeners

task_context.connect()
listeners.connect()
