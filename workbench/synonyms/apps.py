from django.apps import AppConfig


class SynonymsConfig(AppConfig):
    name = "workbench.synonyms"
    label = "vocabulary"  # of the tables and migrations, from before the app was named synonyms
