from django.apps import AppConfig


class ModelsRegistryConfig(AppConfig):
    name = "workbench.models_registry"
    label = "models_registry"
