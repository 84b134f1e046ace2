"""``make cluster-test``: the product on a coordinator and two workers, one of which is lost, and a third that joins."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cluster.nodes import APP, Cluster, engine_here

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    """0 when all tests passed, or when there is nothing to build the engine from."""
    programs = engine_here(ROOT)
    if programs is None:
        return 0
    with tempfile.TemporaryDirectory(prefix="workbench-cluster-") as scratch:
        cluster = Cluster.make(programs, Path(scratch) / "nodes", workers=2)
        try:
            return _test(cluster, Path(scratch))
        finally:
            cluster.stop()


def _test(cluster: Cluster, scratch: Path) -> int:
    owner = cluster.prepare(ROOT, scratch / "home")
    app = cluster.coordinator.url(APP)
    tests = os.environ | owner | {
        "DATABASE_URL": app,
        "TEST_DATABASE_URL": app,
        "SEARCH_BACKEND": "database",
        "CLUSTER_OWNER_URL": owner["DATABASE_URL"],
        "CLUSTER": f"{cluster.programs}:{cluster.folder}:" + ":".join(
            str(node.port) for node in (cluster.coordinator, *cluster.workers)
        ),
    }  # fmt: skip
    given = sys.argv[1:]
    # All of the folder, unless an argument names a file of it.
    files = [] if any(word.startswith("tests/") for word in given) else ["tests/cluster"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", *files, *given]
    return subprocess.run(command, cwd=ROOT, env=tests, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
