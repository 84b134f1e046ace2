"""Mail: printed to the console in development, sent through a server in production, and never printed there."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured

from . import env

CONSOLE = "django.core.mail.backends.console.EmailBackend"

EMAIL_HOST = env.text("EMAIL_HOST")
EMAIL_PORT = env.integer("EMAIL_PORT", 25)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD")
EMAIL_USE_TLS = env.flag("EMAIL_USE_TLS", default=False)
EMAIL_USE_SSL = env.flag("EMAIL_USE_SSL", default=False)
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL", "webmaster@localhost")
EMAIL_BACKEND = env.text(
    "EMAIL_BACKEND", "django.core.mail.backends.smtp.EmailBackend" if EMAIL_HOST else CONSOLE
)


def backend_of_production(backend: str, *, is_chosen: bool) -> str:
    """The backend, or one that sends and prints nothing where it would be the console's.

    Mails hold links that set passwords, and the log has more readers than the mailbox. Raises ImproperlyConfigured
    where the console's was asked for.
    """
    if backend != CONSOLE:
        return backend
    if is_chosen:
        raise ImproperlyConfigured(
            "EMAIL_BACKEND prints mails, with links that set passwords, into the log of production. "
            "Set EMAIL_HOST to a mail server and leave EMAIL_BACKEND away."
        )
    return "workbench.operations.mail.UnsentMail"
