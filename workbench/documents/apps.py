from django.apps import AppConfig


class DocumentsConfig(AppConfig):
    name = "workbench.documents"
    label = "documents"

    def ready(self) -> None:
        from celery.signals import task_postrun
        from django.core.signals import request_finished

        from .copies import copies_sweep_if_due

        task_postrun.connect(copies_sweep_if_due, weak=False, dispatch_uid="documents.copies")
        request_finished.connect(copies_sweep_if_due, weak=False, dispatch_uid="documents.copies")
