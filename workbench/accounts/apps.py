from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "workbench.accounts"
    label = "accounts"

    def ready(self) -> None:
        # Binds shared tasks to the product's own Celery application in every process.
        from workbench import celery  # noqa: F401
