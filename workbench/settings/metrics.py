"""What machines read: figures for Prometheus and spans of OpenTelemetry. Both are off until they are set up."""

from __future__ import annotations

from pathlib import Path

from workbench.paths import default_home

from . import env

#: Who reads /metrics: a bearer token, networks, or both. Neither: the page does not exist.
METRICS_TOKEN = env.text("METRICS_TOKEN")
METRICS_NETWORKS = env.networks("METRICS_NETWORKS")
#: Where a worker shows its own figures, such as 0.0.0.0:9808; empty: nowhere.
METRICS_WORKER_ADDRESS = env.address("METRICS_WORKER_ADDRESS")
#: Where the processes of this machine count together; named as prometheus-client names it. Empty: in memory.
METRICS_FOLDER = (
    env.text(
        "PROMETHEUS_MULTIPROC_DIR",
        str(Path(env.text("WORKBENCH_HOME", str(default_home()))).resolve() / "run" / "metrics"),
    )
    if METRICS_TOKEN or METRICS_NETWORKS
    else ""
)

#: The collector that spans are sent to; every other OTEL_ variable means what OpenTelemetry says. Empty: no spans.
OTEL_EXPORTER_OTLP_ENDPOINT = env.text("OTEL_EXPORTER_OTLP_ENDPOINT")
