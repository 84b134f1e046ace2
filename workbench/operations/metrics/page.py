"""The figures as a page for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.http import Http404, HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from workbench.infra.addresses import address_of
from workbench.infra.metrics import counters

from . import access, figures

logger = structlog.get_logger(__name__)

Collect = Callable[[], Iterable[Metric]]
CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


def metrics_page(request: HttpRequest) -> HttpResponse:
    """All figures for whoever may read them; the page does not exist where nobody may."""
    if not access.is_set_up():
        raise Http404
    refused = access.refusal(
        authorization=request.headers.get("Authorization", ""), address=_address_of(request)
    )
    if refused:
        response = HttpResponse(
            refused.words, status=refused.status, content_type="text/plain; charset=utf-8"
        )
        if refused.status == 401:
            response["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return response
    response = HttpResponse(
        written({"counters": counters.counted} | figures.FIGURES), content_type=CONTENT_TYPE
    )
    response["Cache-Control"] = "private, no-store"
    return response


def written(collectors: dict[str, Collect]) -> bytes:
    """The figures of all collectors. One that fails is named in ``workbench_metrics_failed`` and left out."""
    registry = CollectorRegistry()
    registry.register(_Guarded(collectors))
    return generate_latest(registry)


class _Guarded:
    """What the collectors give, each whole or not at all."""

    def __init__(self, collectors: dict[str, Collect]) -> None:
        self._collectors = collectors

    def describe(self) -> Iterable[Metric]:
        """Nothing: without it the registry would collect once more."""
        return []

    def collect(self) -> Iterable[Metric]:
        """All figures, and which collectors failed."""
        failed = GaugeMetricFamily(
            "workbench_metrics_failed", "Whether figures of a kind could not be read.", labels=["kind"]
        )
        for kind, collect in self._collectors.items():
            try:
                found = list(collect())
            except Exception as error:
                logger.warning("metrics.collector_failed", kind=kind, error=type(error).__name__)
                found = []
                failed.add_metric([kind], 1)
            else:
                failed.add_metric([kind], 0)
            yield from found
        yield failed


def _address_of(request: HttpRequest) -> str:
    try:
        return address_of(request)
    except ImproperlyConfigured:  # fewer proxies than TRUSTED_PROXIES says
        return ""
