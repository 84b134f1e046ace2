from django.apps import AppConfig


class CollectionSettingsConfig(AppConfig):
    name = "workbench.collection_settings"
    label = "collection_settings"
