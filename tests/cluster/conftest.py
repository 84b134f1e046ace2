"""The running cluster of ``make cluster-test``, and the product's own database on it instead of a test database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.nodes import Cluster, Node

IS_THERE = "CLUSTER" in os.environ


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    programs, folder, *ports = os.environ["CLUSTER"].split(":")
    names = ["coordinator", *(f"worker{number}" for number in range(1, len(ports)))]
    nodes = [
        Node(Path(programs), Path(folder) / name, int(port)) for name, port in zip(names, ports, strict=True)
    ]
    found = Cluster(Path(programs), Path(folder), nodes[0], nodes[1:])
    yield found
    for node in found.workers[len(nodes) - 1 :]:  # who started it does not know of it
        node.kill()


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: Any) -> Iterator[None]:
    """No test database: a cluster is made of whole servers, and what is lost with one cannot be rolled back."""
    with django_db_blocker.unblock():
        yield
