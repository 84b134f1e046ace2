from django.apps import AppConfig


class ChecklistsConfig(AppConfig):
    name = "workbench.checklists"
    label = "question_sets"  # of the tables and migrations, from before the app was named checklists
