"""Deliveries are written with the events of the trail."""

from workbench.audit.listeners import listen

from .events import EVENTS
from .outbox import deliveries_write

listen(EVENTS, deliveries_write)
