from django.apps import AppConfig
from django.db.models.signals import post_migrate

from .protection import protect_after_migrate


class LabelingConfig(AppConfig):
    name = "workbench.labeling"
    label = "labeling"

    def ready(self) -> None:
        post_migrate.connect(protect_after_migrate, sender=self, dispatch_uid="labeling.protect")
