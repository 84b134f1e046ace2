from django.apps import AppConfig
from django.db.models.signals import post_migrate

from . import checks  # noqa: F401  (registers itself)
from .hardening import harden_after_migrate
from .protection import protect_after_migrate


class AuditConfig(AppConfig):
    name = "workbench.audit"
    label = "audit"

    def ready(self) -> None:
        post_migrate.connect(protect_after_migrate, sender=self, dispatch_uid="audit.protect")
        post_migrate.connect(harden_after_migrate, sender=self, dispatch_uid="audit.harden")
