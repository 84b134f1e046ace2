from celery.signals import task_postrun, worker_init
from django.apps import AppConfig
from django.core.signals import request_finished

from .parser_doors import log_open_doors


class DocumentsConfig(AppConfig):
    name = "workbench.documents"
    label = "documents"

    def ready(self) -> None:
        from .copies import copies_sweep_if_due

        task_postrun.connect(copies_sweep_if_due, weak=False, dispatch_uid="documents.copies")
        worker_init.connect(log_open_doors, weak=False, dispatch_uid="documents.parser_doors")
        request_finished.connect(copies_sweep_if_due, weak=False, dispatch_uid="documents.copies")
