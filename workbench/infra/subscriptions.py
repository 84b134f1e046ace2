"""Apps that are told by apps below them."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class SubscribingConfig(AppConfig):
    """An app with a module ``subscriptions``: what it listens to, and what it offers to the apps below. The module is
    read once every app has its models, so it imports what it needs at its top. An ``apps.py`` names this class by its
    module: Django takes every AppConfig that it finds there for the app's own."""

    def ready(self) -> None:
        import_module(f"{self.name}.subscriptions")
