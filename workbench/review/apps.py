from django.apps import AppConfig

from workbench.audit.withholding import withhold


class ReviewConfig(AppConfig):
    name = "workbench.review"
    label = "review"

    def ready(self) -> None:
        """Tells the trail which events would tell a blind reviewer the roles."""
        from .blindness import events_hidden

        withhold(events_hidden)
