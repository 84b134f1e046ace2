"""The running cluster of ``make cluster-test``, and the product's own database on it instead of a test database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

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
    for node in found.workers:
        if node not in nodes:  # who started the cluster does not know of it
            node.kill()


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: Any) -> Iterator[None]:
    """No test database: a cluster is made of whole servers, and what is lost with one cannot be rolled back."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture(scope="module", autouse=True)
def _here(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[None]:
    """No broker and no other process: each step is called here, as its task would."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, override_settings(WORKBENCH_HOME=folder):
        patch.setattr("workbench.infra.dispatch.dispatch", lambda *args, **kwargs: True)
        yield
