from django.apps import AppConfig


class ExportsConfig(AppConfig):
    name = "workbench.exports"
    label = "exports"

    def ready(self) -> None:
        from . import checks  # noqa: F401  (registers itself)
