from django.apps import AppConfig


class VocabularyConfig(AppConfig):
    name = "workbench.vocabulary"
    label = "vocabulary"
