from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "workbench.ops"
    label = "ops"

    def ready(self) -> None:
        from . import checks, task_context  # noqa: F401  (the checks register themselves)
        from .metrics import listeners

        task_context.connect()
        listeners.connect()
