"""Settings that every environment shares."""

from __future__ import annotations

from pathlib import Path

import environ
from django.utils.translation import gettext_lazy as _
from whitenoise.compress import Compressor

from workbench import paths

from . import env
from .storage import file_storage

BASE_DIR = paths.ROOT
WORKBENCH_HOME = Path(env.text("WORKBENCH_HOME", str(paths.default_home()))).resolve()

SECRET_KEY = env.text("SECRET_KEY")
#: Earlier keys, while sessions, links and webhooks of theirs last (docs/operating.md, "Rotate keys").
SECRET_KEY_FALLBACKS = env.words("SECRET_KEY_FALLBACKS")
DEBUG = False
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
#: Where people reach the product, such as https://workbench.example: links in mails begin with it.
PUBLIC_URL = env.text("PUBLIC_URL").rstrip("/")
#: Whether the demo gets a month of decisions, trainings and costs, acted out by a worker.
DEMO_MONTH = env.flag("WORKBENCH_DEMO_MONTH", default=True)
#: Whether an act of that month that fails ends it; for tests.
DEMO_STRICT = env.flag("WORKBENCH_DEMO_STRICT", default=False)
#: Signs exports of the audit trail; shared with those who check them. Empty: exports carry hashes only.
AUDIT_EXPORT_KEY = env.text("AUDIT_EXPORT_KEY")
#: Signs exports of runs and periods: Ed25519, 32 bytes as base64 or PEM. Empty: they say that they are not signed.
EXPORT_SIGNING_KEY = env.text("EXPORT_SIGNING_KEY")
#: Public keys of earlier signing keys, as manage.py export_key prints them in one word.
EXPORT_PUBLIC_KEYS = env.words("EXPORT_PUBLIC_KEYS")
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "workbench.accounts",
    "workbench.audit",
    "workbench.documents",
    "workbench.people",
    "workbench.directory",
    "workbench.search",
    "workbench.trail",
    "workbench.runs",
    "workbench.review",
    "workbench.checklists",
    "workbench.synonyms",
    "workbench.collection_settings",
    "workbench.labeling",
    "workbench.rerankers",
    "workbench.exports",
    "workbench.archives",
    "workbench.webhooks",
    "workbench.sources",
    "workbench.operations",
    "workbench.api",
    "workbench.erasure",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "template_partials",
    "csp",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "rest_framework",
    "drf_spectacular_sidecar",
    "drf_spectacular",
]

MIDDLEWARE = [
    # What sets headers stands outside of everything that may answer by itself, static files and errors too.
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "workbench.infra.middleware.NothingKeptMiddleware",
    "workbench.infra.metrics.middleware.MetricsMiddleware",
    "workbench.infra.middleware.CompressTextMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "workbench.infra.middleware.AddressMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "workbench.accounts.middleware.LanguageMiddleware",
    "workbench.infra.middleware.DirectionMiddleware",
    "workbench.infra.request_log.RequestLogMiddleware",
    "workbench.infra.middleware.RequestIdMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "workbench.infra.middleware.HtmxSessionExpiryMiddleware",
    "workbench.accounts.middleware.IdleLockMiddleware",
    "workbench.accounts.door.KnownDeviceMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]

ROOT_URLCONF = "workbench.urls"
WSGI_APPLICATION = "workbench.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [paths.TEMPLATES],
        "OPTIONS": {
            "loaders": [
                (
                    "template_partials.loader.Loader",
                    [
                        (
                            "django.template.loaders.cached.Loader",
                            [
                                "django.template.loaders.filesystem.Loader",
                                "django.template.loaders.app_directories.Loader",
                            ],
                        )
                    ],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "workbench.operations.context_processors.shell",
            ],
            # Builtins, so that Django 6 (which has partials itself) needs no template edit.
            "builtins": ["template_partials.templatetags.partials"],
        },
    }
]

DATABASES = {"default": environ.Env.db_url_config(env.text("DATABASE_URL", "postgres://localhost/workbench"))}
DATABASES["default"]["ENGINE"] = "django.db.backends.postgresql"
# Connections live as long as a request or task: each waiting LLM call gives its own back.
DATABASES["default"]["CONN_MAX_AGE"] = env.integer("DATABASE_CONN_MAX_AGE", 60)
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DATABASES["default"]["ATOMIC_REQUESTS"] = False
#: A standby that some reading acts may use (workbench/infra/replica.py). Empty: none.
if env.text("DATABASE_REPLICA_URL"):
    DATABASES["replica"] = DATABASES["default"] | environ.Env.db_url_config(env.text("DATABASE_REPLICA_URL"))
    DATABASES["replica"]["ENGINE"] = "workbench.infra.standby"
    # One that is gone must not hold a page: libpq would wait for minutes.
    DATABASES["replica"]["OPTIONS"] = {
        "connect_timeout": env.integer("DATABASE_REPLICA_CONNECT_SECONDS", 2),
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 10_000,
    } | DATABASES["replica"].get("OPTIONS", {})
    DATABASES["replica"]["TEST"] = {"MIRROR": "default"}
    DATABASE_ROUTERS = ["workbench.infra.replica.Router"]
#: Seconds that it may be behind, and that an act waits for it at most, before the primary is read instead.
DATABASE_REPLICA_LAG_SECONDS = env.integer("DATABASE_REPLICA_LAG_SECONDS", 1)
#: Seconds for it to take a connection, and then to say how far it is; and for its answer to one query.
DATABASE_REPLICA_CONNECT_SECONDS = env.integer("DATABASE_REPLICA_CONNECT_SECONDS", 2)
DATABASE_REPLICA_QUERY_SECONDS = env.integer("DATABASE_REPLICA_QUERY_SECONDS", 60)

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
FORM_RENDERER = "django.forms.renderers.DjangoTemplates"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("es", _("Spanish"))]
LOCALE_PATHS = [BASE_DIR / "workbench" / "locale"]
FORMAT_MODULE_PATH = "workbench.formats"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = Path(env.text("WORKBENCH_STATIC_ROOT", str(WORKBENCH_HOME / "static")))
STATICFILES_DIRS = [paths.STATIC]
# Pages name files by the hash of their content alone, and nobody waits for a source map: to compress all of them was
# half of a first start.
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = (*Compressor.SKIP_COMPRESS_EXTENSIONS, "map")
STORAGES = {
    "default": file_storage(env.text("WORKBENCH_MEDIA_ROOT", str(WORKBENCH_HOME / "files"))),
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
# Files never have a public URL: every byte goes through a view that authorises.
MEDIA_URL = ""

DATA_UPLOAD_MAX_NUMBER_FILES = 200
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

from .accounts import *  # noqa: F403
from .caches import *  # noqa: F403
from .celery import *  # noqa: F403
from .engine import *  # noqa: F403
from .logging import *  # noqa: F403
from .mail import *  # noqa: F403
from .metrics import *  # noqa: F403
from .rest import *  # noqa: F403
from .security import *  # noqa: F403
from .sources import *  # noqa: F403
from .webhooks import *  # noqa: F403

INSTALLED_APPS += SIGN_ON_APPS  # noqa: F405
