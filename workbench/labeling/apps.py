from django.db.models.signals import post_migrate

from workbench.infra import subscriptions

from .protection import protect_after_migrate


class LabelingConfig(subscriptions.SubscribingConfig):
    name = "workbench.labeling"
    label = "labeling"

    def ready(self) -> None:
        super().ready()
        post_migrate.connect(protect_after_migrate, sender=self, dispatch_uid="labeling.protect")
