from django.apps import AppConfig


class LabelingConfig(AppConfig):
    name = "workbench.labeling"
    label = "labeling"
