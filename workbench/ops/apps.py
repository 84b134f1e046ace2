from django.apps import AppConfig

from workbench.infra import task_context

from . import checks  # noqa: F401  (the checks register themselves)


class OpsConfig(AppConfig):
    name = "workbench.ops"
    label = "ops"

    def ready(self) -> None:
        from .metrics import listeners

        task_context.connect()
        listeners.connect()
