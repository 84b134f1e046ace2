from django.apps import AppConfig


class ErasureConfig(AppConfig):
    """Looks down on every app that holds text of a document."""

    name = "workbench.erasure"
    label = "erasure"
