from django.apps import AppConfig

from . import checks  # noqa: F401  (registers itself)


class ExportsConfig(AppConfig):
    name = "workbench.exports"
    label = "exports"
