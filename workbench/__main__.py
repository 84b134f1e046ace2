"""``arbiter-workbench run | manage | mcp | status | stop``: the installed product's command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from workbench.infra.command_line import execute
from workbench.paths import default_home
from workbench.stack import client
from workbench.stack.__main__ import main as stack
from workbench.version import version

USAGE = """usage: arbiter-workbench COMMAND

  run [--no-demo]      the whole product until Ctrl-C; HOST, PORT and WORKBENCH_HOME count
  manage COMMAND ...   a command of the product, such as: manage ask "How long are records kept?" --collection demo
  mcp [--http]         the product for agents; WORKBENCH_URL and WORKBENCH_TOKEN count
  status               what runs
  stop                 stop what runs
  --version            the version

The data is kept in ./arbiter-workbench-data, or in the folder that WORKBENCH_HOME names."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit status, 2 for wrong use."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    os.environ.setdefault("WORKBENCH_HOME", str(default_home()))
    match arguments[:1]:
        case ["run" | "status" | "stop" | "serve" | "exec"]:
            return stack(arguments)
        case ["manage"]:
            manage(arguments[1:])
            return 0
        case ["mcp"]:
            return _mcp(arguments[1:])
        case ["--version" | "-V"]:
            print(f"arbiter-workbench {version()}")  # noqa: T201
            return 0
        case ["-h" | "--help" | "help"]:
            print(USAGE)  # noqa: T201
            return 0
    print(USAGE, file=sys.stderr)  # noqa: T201
    return 2


def _mcp(arguments: Sequence[str]) -> int:
    if find_spec("mcp") is None:
        print("The MCP server needs the extra mcp: pip install 'arbiter-workbench[mcp]'", file=sys.stderr)  # noqa: T201
        return 1
    from workbench.mcp.server import main as serve  # the extra may be missing

    return serve(arguments)


def manage(arguments: Sequence[str], *, program: str = "arbiter-workbench manage") -> None:
    """Prepare the services that a Django command needs, then hand over to Django. Leaves by ``SystemExit`` where the
    command fails."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings.dev")
    command_line = [program, *arguments]
    client.prepare_command(command_line)

    execute(command_line)


if __name__ == "__main__":
    sys.exit(main())
