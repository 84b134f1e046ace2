"""Production: HTTPS only, secrets from the environment or mounted files."""

from __future__ import annotations

from .base import *  # noqa: F403
from .base import EMAIL_BACKEND, env
from .mail import backend_of_production

SECRET_KEY = env.required("SECRET_KEY", "Give a long random value, or SECRET_KEY_FILE: the path of a file.")
DATABASE_URL_GIVEN = env.required("DATABASE_URL", "Give postgres://user:password@host:5432/name.")

SECURE_SSL_REDIRECT = env.flag("SECURE_SSL_REDIRECT", default=True)
# Prometheus asks inside the network, beside the proxy that speaks HTTPS; a redirect would come after the token.
SECURE_REDIRECT_EXEMPT = [r"^metrics$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = env.integer("SECURE_HSTS_SECONDS", 365 * 24 * 3600)
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
# The same proxy says who calls; without it everybody would share one count of failed logins.
ALLAUTH_TRUSTED_PROXY_COUNT = env.integer("TRUSTED_PROXIES", 1)
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
LANGUAGE_COOKIE_SECURE = True
EMAIL_BACKEND = backend_of_production(EMAIL_BACKEND, is_chosen=bool(env.text("EMAIL_BACKEND")))
