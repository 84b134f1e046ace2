from django.apps import apps
from django.utils.module_loading import import_string

from workbench.infra import subscriptions


class DirectoryConfig(subscriptions.SubscribingConfig):
    """People and groups as a company's directory has them."""

    name = "workbench.directory"
    label = "directory"

    def ready(self) -> None:
        """Listens to sign-ons, and puts our SAML in the place of allauth's where there is any."""
        super().ready()
        if apps.is_installed("allauth.socialaccount.providers.saml"):
            registry = import_string("allauth.socialaccount.providers.registry")
            registry.load()
            registry.register(import_string("workbench.directory.saml.SamlProvider"))
