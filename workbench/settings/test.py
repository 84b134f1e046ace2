"""Tests: the owner's connection makes the test database; fast hashing; no static manifest."""

from __future__ import annotations

import os

os.environ.setdefault("SECRET_KEY", "only-for-tests-and-never-for-a-server-that-anyone-can-reach")

from .base import *  # noqa: F403
from .base import DATABASES, INSTALLED_APPS, STORAGES, env, environ

INSTALLED_APPS = [*INSTALLED_APPS, "workbench.devtools"]
ROOT_URLCONF = "workbench.devtools.urls"
SECRET_KEY = os.environ["SECRET_KEY"]
if env.text("TEST_DATABASE_URL"):
    DATABASES["default"] |= environ.Env.db_url_config(env.text("TEST_DATABASE_URL"))
    DATABASES["default"]["ENGINE"] = "django.db.backends.postgresql"
DATABASES["default"]["CONN_MAX_AGE"] = 0
CACHES = {
    "default": {"BACKEND": "tests.json_cache.JsonLocMemCache", "LOCATION": "default"},
    "process": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "process"},
}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
EMAIL_HOST = "mail.example.org"
ALLOWED_HOSTS = ["*"]
LANGUAGE_CODE = "en"
LOG_LEVEL = "WARNING"
#: The fake models of tests listen on this machine.
MODEL_NETWORKS = env.networks("MODEL_NETWORKS", "127.0.0.0/8,::1/128")
#: Tests say themselves when a model serves.
SEED_MODEL = False
#: The month of the demo has a test of its own.
DEMO_MONTH = False
#: Tests that send many requests are no program gone wild; the tests of the limit set one.
API_REQUESTS_PER_MINUTE = 0
#: The tests of the sweep say when.
COPIES_SWEEP_SECONDS = 0
#: Logins of tests are made without a password; the tests of asking again say so themselves.
ASKS_AGAIN = False
#: Tests decide in sight; those of blind decisions set a share.
BLIND_SHARE = 0.0
#: Tests have no worker to wait for; those of the matching run it themselves.
LABEL_MATCH_SECONDS = 0.0
