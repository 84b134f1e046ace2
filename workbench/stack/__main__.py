"""``python -m workbench.stack COMMAND``: the supervisor's command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from . import commands
from .console import say
from .errors import StackError
from .home import Home
from .project import Project


def main(argv: Sequence[str] | None = None, project: Project | None = None) -> int:
    """Run one command; its exit status. 1 with a message when it cannot, 2 for wrong use."""
    options = _parser().parse_args(argv)
    project = project or Project()
    home = Home.from_environment(os.environ, project.root)
    try:
        return _dispatch(options, project, home)
    except StackError as error:
        say(str(error))
        return 1


def _dispatch(options: argparse.Namespace, project: Project, home: Home) -> int:
    match options.command:
        case "run":
            return commands.run(project, home, demo=options.demo)
        case "serve":
            return commands.serve(project, home, until_unused=options.until_unused)
        case "exec":
            return commands.execute(project, options.argv, migrated=options.migrated)
        case "status":
            return commands.status(home)
        case _:
            return commands.stop(home)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workbench.stack", description=__doc__)
    subparsers = parser.add_subparsers(dest="command", required=True)
    run = subparsers.add_parser(
        "run", help="the whole product until Ctrl-C; HOST, PORT and WORKBENCH_HOME count"
    )
    run.add_argument("--no-demo", dest="demo", action="store_false", help="make no demo users and collection")
    serve = subparsers.add_parser("serve", help="database, broker, worker and beat without the web server")
    serve.add_argument(
        "--until-unused", action="store_true", help="stop when the last command using them ends"
    )
    execute = subparsers.add_parser("exec", help="run a command beside temporary services")
    execute.add_argument("--migrated", action="store_true", help="apply migrations to the database first")
    execute.add_argument("argv", nargs="+", metavar="COMMAND", help="after --: the command and its arguments")
    subparsers.add_parser("status", help="what runs in this home")
    subparsers.add_parser("stop", help="stop what runs in this home")
    return parser


if __name__ == "__main__":
    sys.exit(main())
