from django.apps import AppConfig

# Binds shared tasks to the product's own Celery application in every process.
from workbench import celery  # noqa: F401


class AccountsConfig(AppConfig):
    name = "workbench.accounts"
    label = "accounts"
