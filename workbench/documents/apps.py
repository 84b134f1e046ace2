from django.apps import AppConfig


class DocumentsConfig(AppConfig):
    name = "workbench.documents"
    label = "documents"
