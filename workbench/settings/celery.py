"""Celery: state lives in PostgreSQL, messages are only wake-up calls."""

from __future__ import annotations

from celery.schedules import crontab

from . import env
from .sources import SOURCE_SECONDS

CELERY_BROKER_URL = env.text("BROKER_URL", "redis://127.0.0.1:6379/0")
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_CREATE_MISSING_QUEUES = True
CELERY_TASK_ROUTES = {
    # Reading a file may take minutes: pictures of pages, the sweeper and erasure do not wait behind it.
    "documents.ingest": {"queue": "ingest"},
    "questions.*": {"queue": "llm"},
    "review.regenerate": {"queue": "llm"},
    "models.*": {"queue": "train"},
    "operations.bars": {"queue": "train"},
    "operations.job": {"queue": "train"},
}
# Longer than the longest task and the longest countdown, or the broker hands a message out twice.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 6 * 3600,
    "socket_connect_timeout": 2,
    "socket_timeout": 5,
    "max_retries": 1,
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_SOFT_TIME_LIMIT = 30 * 60
CELERY_TASK_TIME_LIMIT = 32 * 60
CELERY_TASK_PUBLISH_RETRY = False  # a lost message is found by the sweeper
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE = {
    "sweep-documents": {"task": "documents.sweep", "schedule": 5.0, "options": {"expires": 5}},
    "retain-documents": {"task": "documents.retain", "schedule": 60.0, "options": {"expires": 59}},
    "sweep-runs": {"task": "questions.sweep", "schedule": 10.0, "options": {"expires": 9}},
    "sweep-question-sets": {
        "task": "question_sets.sweep",
        "schedule": 30.0,
        "options": {"expires": 29},
    },
    "tick-learning": {"task": "learning.tick", "schedule": 15.0, "options": {"expires": 14}},
    "sweep-answers": {"task": "review.sweep", "schedule": 10.0, "options": {"expires": 9}},
    "supply-labeling": {"task": "labeling.supply", "schedule": 3600.0, "options": {"expires": 3599}},
    "sweep-exports": {"task": "exports.sweep", "schedule": 30.0, "options": {"expires": 29}},
    "sweep-archives": {"task": "archives.sweep", "schedule": 30.0, "options": {"expires": 29}},
    "sweep-bars": {"task": "operations.sweep", "schedule": 30.0, "options": {"expires": 29}},
    "sweep-webhooks": {"task": "webhooks.sweep", "schedule": 10.0, "options": {"expires": 9}},
    "sweep-sources": {
        "task": "sources.sweep",
        "schedule": max(1.0, SOURCE_SECONDS / 4),
        "options": {"expires": 30},
    },
    "mail-digest": {"task": "review.digest", "schedule": crontab(hour="6", minute="0")},
    "seal-audit": {"task": "audit.seal", "schedule": 5.0, "options": {"expires": 5}},
}

#: Seconds between two looks of a host for copies of erased documents on its own disk; 0 for never.
COPIES_SWEEP_SECONDS = 900

#: Seconds after which a worker that stopped renewing its lease is taken for dead.
LEASE_SECONDS = env.integer("WORKBENCH_LEASE_SECONDS", 30)
#: Seconds between two renewals of a lease.
HEARTBEAT_SECONDS = env.integer("WORKBENCH_HEARTBEAT_SECONDS", 5)
#: Seconds that one step of a question (search, judge, answer) may take before it is stopped.
STAGE_SECONDS = env.integer("WORKBENCH_STAGE_SECONDS", 900)
#: Seconds that reading one file may take, text recognition included.
INGEST_SECONDS = env.integer("WORKBENCH_INGEST_SECONDS", 1700)
#: Files that one machine reads at the same time. One collection leaves one of these places to others.
INGEST_AT_ONCE = env.integer("WORKBENCH_INGEST_AT_ONCE", 2)
#: A task that lost its worker this often is stopped and reported.
MAX_ATTEMPTS = 3
