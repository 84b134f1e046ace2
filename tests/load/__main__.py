"""``python -m tests.load [--minutes 5]``: prepares a large queue, lets everybody work, prints one table."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.bench.pages import demo_ready, fill
from tests.load.table import Use, failures_of, rows_of, table, use_of
from tests.product import RunningProduct, running_product

ROOT = Path(__file__).resolve().parent.parent.parent
REVIEWERS, ANALYSTS = 50, 10
#: After this share of the time everything has been used once.
WARM_SHARE = 0.4
#: Runs in the product: makes people with a session each, and says their keys.
SIGN_IN = """
import json
from django.test import Client
from workbench.accounts.models import Membership, User
from workbench.documents.models import Collection
demo = Collection.objects.get(slug="demo")
sessions = {{}}
for role, count in {people}.items():
    for number in range(count):
        name = f"{{role}} {{number + 1}}"
        user = User.objects.create_user(f"{{role}}-{{number + 1}}@load.example", None, name=name.capitalize())
        Membership.objects.create(user=user, collection=demo, role=role)
        client = Client()
        client.force_login(user)
        sessions.setdefault(role, []).append(client.cookies["sessionid"].value)
print(json.dumps(sessions))
"""


def main(arguments: list[str] | None = None) -> int:
    """0 when no request failed, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long everybody works (default 5)")
    parser.add_argument("--candidates", type=int, default=100_000, help="in the queue (default 100,000)")
    options = parser.parse_args(arguments)
    with running_product() as product, tempfile.TemporaryDirectory() as folder:
        demo_ready(product)
        candidates = fill(product, options.candidates)
        sessions = Path(folder) / "sessions.json"
        sessions.write_text(json.dumps(_signed_in(product)), encoding="utf-8")
        busy, start = os.getloadavg()[0], _use(product)
        warm = _locust(product, sessions=sessions, report=Path(folder) / "load", minutes=options.minutes)
        rows = rows_of((Path(folder) / "load_stats.csv").read_text(encoding="utf-8"))
        print(
            f"\n{REVIEWERS} reviewers (a decision every 5 s) and {ANALYSTS} analysts (a question a minute) for"
            f" {options.minutes:g} minutes, {candidates:,} candidates; load of the machine before: {busy:.1f}\n"
        )
        end = _use(product)
        print(table(rows, use={name: (start[name], warm[name], end[name]) for name in start}))
        print(*failures_of((Path(folder) / "load_failures.csv").read_text(encoding="utf-8")), sep="\n")
    return 1 if any(row.failures for row in rows) else 0


def _signed_in(product: RunningProduct) -> dict[str, list[str]]:
    code = SIGN_IN.format(people={"reviewer": REVIEWERS, "analyst": ANALYSTS})
    done = product.manage("shell", "-c", code)
    assert done.returncode == 0, done.stderr
    sessions: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return sessions


def _use(product: RunningProduct) -> dict[str, Use]:
    return {name: use_of(product.pid(name)) for name in ("web", "postgres", "questions", "worker")}


def _locust(product: RunningProduct, *, sessions: Path, report: Path, minutes: float) -> dict[str, Use]:
    """A process of its own: locust replaces the sockets of the one it runs in. Gives what the product uses once
    everybody has worked for a while: processes that were forked keep what they share until they first write to it."""
    command = [sys.executable, "-m", "locust", "--headless", "--locustfile", "tests/load/people.py"]
    command += ["--host", product.address, "--users", str(REVIEWERS + ANALYSTS), "--spawn-rate", "6"]
    command += [
        "--run-time",
        f"{round(minutes * 60)}s",
        "--csv",
        str(report),
        "--only-summary",
    ]
    environment = os.environ | {"LOAD_SESSIONS": str(sessions)}
    with tempfile.TemporaryFile("w+") as said:
        people = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=said, stderr=said)
        with suppress(subprocess.TimeoutExpired):
            people.wait(minutes * 60 * WARM_SHARE)
        warm = _use(product)
        if people.wait() not in {0, 1}:  # 1: some requests failed, which the table says
            said.seek(0)
            raise RuntimeError(f"locust ended with {people.returncode}:\n{said.read()[-4000:]}")
    return warm


if __name__ == "__main__":
    sys.exit(main())
