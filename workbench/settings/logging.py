"""structlog: one JSON line per event, with request, task and run ids; never document text or secrets."""

from __future__ import annotations

import logging

import structlog

from workbench.infra.tracing import add_trace_ids

from . import env
from .metrics import OTEL_EXPORTER_OTLP_ENDPOINT

LOG_LEVEL = env.text("LOG_LEVEL", "INFO")

_SHARED = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    *([add_trace_ids] if OTEL_EXPORTER_OTLP_ENDPOINT else []),
]

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {
            "()": structlog.stdlib.ProcessorFormatter,
            "processor": structlog.processors.JSONRenderer(),
            "foreign_pre_chain": _SHARED,
        },
    },
    # Standard error: commands print one JSON value on standard output and nothing else.
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "django.server": {"handlers": ["console"], "level": "WARNING", "propagate": False},
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        "openai": {"level": "WARNING"},
    },
}

#: One line for a request, when it has ended and is known whole. One when it begins, for requests that never end, with
#: LOG_LEVEL=DEBUG.
DJANGO_STRUCTLOG_STATUS_START_LOG_LEVEL = logging.DEBUG

structlog.configure(
    processors=[
        structlog.stdlib.filter_by_level,
        *_SHARED,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
