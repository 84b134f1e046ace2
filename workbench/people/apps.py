from django.apps import AppConfig


class PeopleConfig(AppConfig):
    """What is done with accounts, and by people with their own; the accounts themselves lie below everything."""

    name = "workbench.people"
    label = "people"

    def ready(self) -> None:
        from . import signals

        signals.connect()
