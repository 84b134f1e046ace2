"""Two running services, and the environments of the processes that use them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from . import postgres
from .home import Home, Secrets
from .ports import ServicePorts
from .project import Project


@dataclass(frozen=True)
class Services:
    """PostgreSQL and Valkey of one home, and how to reach them."""

    home: Home
    secrets: Secrets
    ports: ServicePorts

    @property
    def owner_url(self) -> str:
        """The address for the schema's owner."""
        return postgres.url(postgres.OWNER_ROLE, self.secrets.owner_password, self.ports.postgres)

    def environment(self, project: Project) -> dict[str, str]:
        """Variables for processes that connect as the application."""
        return project.environment(self.home, self.secrets, self.ports)

    def owner_environment(self, project: Project) -> dict[str, str]:
        """Variables for migrations, and for nothing else."""
        return {
            **self.environment(project),
            "DATABASE_URL": self.owner_url,
            "DATABASE_OWNER_URL": self.owner_url,
        }

    def test_environment(self, project: Project) -> dict[str, str]:
        """Variables for test runs: also the superuser's address, which makes test databases.

        Without DJANGO_SETTINGS_MODULE: manage.py and pytest each have their own default.
        """
        environment = self.environment(project)
        if "DJANGO_SETTINGS_MODULE" not in os.environ:
            environment.pop("DJANGO_SETTINGS_MODULE", None)
        superuser = postgres.url(postgres.SUPERUSER, self.secrets.superuser_password, self.ports.postgres)
        return {**environment, "DATABASE_OWNER_URL": self.owner_url, "TEST_DATABASE_URL": superuser}
