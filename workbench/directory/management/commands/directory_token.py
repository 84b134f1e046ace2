"""``manage.py directory_token``: tokens that directories use for SCIM."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workbench.directory.models import DirectoryToken
from workbench.directory.tokens import directory_token_create, directory_token_revoke
from workbench.errors import WorkbenchError


class Command(BaseCommand):
    help = "Creates, lists and revokes SCIM tokens for directories."

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        create = acts.add_parser("create", help="create a token and print it once")
        create.add_argument("name", help="name of the token, such as the name of the directory")
        create.add_argument("--days", type=int, default=365)
        revoke = acts.add_parser("revoke", help="revoke a token")
        revoke.add_argument("id", type=int)
        acts.add_parser("list", help="list all tokens as JSON lines")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            self._do(options)
        except WorkbenchError as error:
            raise CommandError(error.message, returncode=1) from error

    def _do(self, options: dict[str, Any]) -> None:
        match options["act"]:
            case "create":
                _token, key = directory_token_create(name=options["name"], days=options["days"])
                self.stdout.write(key)
            case "revoke":
                directory_token_revoke(pk=options["id"])
                self.stdout.write("Revoked.")
            case _:
                for token in DirectoryToken.objects.all():
                    names = ("id", "name", "start", "created_at", "expires_at", "last_used_at", "revoked_at")
                    self.stdout.write(json.dumps({name: getattr(token, name) for name in names}, default=str))
