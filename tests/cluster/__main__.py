"""``make cluster-test``: the product on a coordinator and two workers, one of which is lost, and a third that joins."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cluster.nodes import APP, OWNER, Cluster, engine

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    """0 when all tests passed, or when there is nothing to build the engine from."""
    sources = Path(os.environ.get("WORKBENCH_ENGINES", ROOT.parent / "shared" / "engines"))
    if not (sources / "build").is_file():
        print(f"skipped: no sources of the engine at {sources}; set WORKBENCH_ENGINES to their folder")
        return 0
    cache = Path(os.environ.get("WORKBENCH_ENGINE_CACHE", ROOT / "var" / "engine"))
    programs = engine(sources, cache.resolve())
    with tempfile.TemporaryDirectory(prefix="workbench-cluster-") as scratch:
        cluster = Cluster.make(programs, Path(scratch) / "nodes", workers=2)
        try:
            return _test(cluster, Path(scratch))
        finally:
            cluster.stop()


def _test(cluster: Cluster, scratch: Path) -> int:
    named = {
        "WORKBENCH_HOME": str(scratch / "home"),
        "BROKER_URL": "redis://127.0.0.1:1/0",
        "SECRET_KEY": "only-for-tests-and-never-for-a-server-that-anyone-can-reach",
    }
    owner = os.environ | named | {"DATABASE_URL": cluster.coordinator.url(OWNER)}
    for command in (["migrate", "--noinput", "-v0"], ["search_backend", "database"], ["distribute"]):
        subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=owner, check=True)
    app = cluster.coordinator.url(APP)
    tests = os.environ | named | {
        "DATABASE_URL": app,
        "TEST_DATABASE_URL": app,
        "SEARCH_BACKEND": "database",
        "CLUSTER_OWNER_URL": cluster.coordinator.url(OWNER),
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
