"""``manage.py create_user``: creates an account, optionally with a role."""

from __future__ import annotations

import getpass
import json
import os
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from workbench.accounts.models import MemberRole, User
from workbench.documents.models import Collection
from workbench.errors import WorkbenchError
from workbench.people.services import membership_grant, user_create

PASSWORD_VARIABLE = "WORKBENCH_USER_PASSWORD"  # noqa: S105  (the name of a variable)


class Command(BaseCommand):
    help = (
        "Creates an account. The password is read from the environment variable "
        f"{PASSWORD_VARIABLE}, or asked for."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--name", default="")
        parser.add_argument(
            "--staff", action="store_true", help="make the person an administrator of the installation"
        )
        parser.add_argument("--collection", metavar="SLUG", help="grant a role in this collection")
        parser.add_argument("--role", choices=MemberRole.values, action="append", default=[])
        parser.add_argument("--json", action="store_true", help="print one JSON value")

    def handle(self, *_: Any, **options: Any) -> None:
        if bool(options["collection"]) != bool(options["role"]):
            raise CommandError("Use --collection and --role together.", returncode=2)
        password = _password()
        try:
            user = _create(options, password)
        except WorkbenchError as error:
            raise CommandError(error.message, returncode=1) from error
        row = {"id": user.pk, "email": user.email, "name": user.name, "roles": options["role"]}
        self.stdout.write(json.dumps(row) if options["json"] else f"Created {user.email}.")


@transaction.atomic
def _create(options: dict[str, Any], password: str) -> User:
    actor = User.objects.system()
    user = user_create(
        actor=actor,
        email=options["email"],
        name=options["name"],
        password=password,
        is_staff=options["staff"],
    )
    for role in options["role"]:
        collection = Collection.objects.filter(slug=options["collection"]).first()
        if collection is None:
            raise WorkbenchError(f"There is no collection {options['collection']!r}.")
        membership_grant(actor=actor, user=user, collection=collection, role=role)
    return user


def _password() -> str:
    password = os.environ.get(PASSWORD_VARIABLE) or getpass.getpass("Password: ")
    try:
        validate_password(password)
    except ValidationError as error:
        raise CommandError(" ".join(error.messages), returncode=1) from error
    return password
