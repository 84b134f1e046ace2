"""The worker class that compose files of earlier releases name."""

from __future__ import annotations

from workbench.operations.server import GatheringWorker

__all__ = ["GatheringWorker"]
