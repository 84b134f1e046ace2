from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "workbench.runs"
    label = "questions"  # of the tables and migrations, from before the app was named runs
