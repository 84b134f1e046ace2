from django.apps import AppConfig


class ExportsConfig(AppConfig):
    name = "workbench.exports"
    label = "exports"
