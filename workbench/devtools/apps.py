from django.apps import AppConfig


class DevtoolsConfig(AppConfig):
    name = "workbench.devtools"
    label = "devtools"
