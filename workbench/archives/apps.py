from django.apps import AppConfig


class ArchivesConfig(AppConfig):
    name = "workbench.archives"
    label = "archives"
