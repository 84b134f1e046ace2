from django.apps import AppConfig

from workbench.audit.listeners import listen

from .events import EVENTS


class WebhooksConfig(AppConfig):
    """Webhooks."""

    name = "workbench.webhooks"

    def ready(self) -> None:
        """Deliveries are written with the events of the trail."""
        from .outbox import deliveries_write

        listen(EVENTS, deliveries_write)
