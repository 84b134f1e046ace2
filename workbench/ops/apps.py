from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "workbench.ops"
    label = "ops"

    def ready(self) -> None:
        from . import checks  # noqa: F401
        from .metrics import listeners

        listeners.connect()
