"""The stand-in's commands, which find their services as manage.py does."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from tests.workbench.stack.standin import PROJECT
from workbench.stack import client

if TYPE_CHECKING:
    import psycopg

LOGINS = [{"role": "analyst", "email": "analyst@example.org", "password": "not-a-secret"}]


def main(argv: list[str]) -> int:
    """Run one command."""
    client.prepare_command(argv, PROJECT)
    command, arguments = argv[1], argv[2:]
    if command == "create_demo":
        print("making the demo", file=sys.stderr)
        print(json.dumps(LOGINS))
        return 0
    if command == "collectstatic":
        os.makedirs(os.path.join(os.environ["WORKBENCH_HOME"], "static"), exist_ok=True)
        return 0
    import psycopg  # late: it takes longer to load than the rest together

    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        return _with_database(connection, command, arguments)


def _with_database(
    connection: psycopg.Connection[tuple[object, ...]], command: str, arguments: list[str]
) -> int:
    if command == "migrate":
        if os.environ.get("STANDIN_BROKEN") == "migrate":
            print("the migration is broken on purpose", file=sys.stderr)
            return 1
        connection.execute("CREATE TABLE IF NOT EXISTS note (id serial PRIMARY KEY, text text NOT NULL)")
    elif command == "add":
        connection.execute("INSERT INTO note (text) VALUES (%s)", arguments)
    elif command == "send":
        from tests.workbench.stack.standin.tasks import write

        write.delay(*arguments)
    elif command == "list":
        rows = connection.execute("SELECT text FROM note ORDER BY id").fetchall()
        print(json.dumps([row[0] for row in rows]))
    elif command == "hold":
        # Uses the services until its standard input ends.
        print(os.environ["DATABASE_URL"], flush=True)
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
