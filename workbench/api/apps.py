from django.apps import AppConfig

from workbench.audit.listeners import listen


class ApiConfig(AppConfig):
    name = "workbench.api"
    label = "api"

    def ready(self) -> None:
        """Answers are forgotten with the role that they were given to."""
        from .answers import answers_forget

        listen(["membership.revoked"], answers_forget)
