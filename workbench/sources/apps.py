from django.apps import AppConfig


class SourcesConfig(AppConfig):
    """Sources: places that documents come from by themselves."""

    name = "workbench.sources"
