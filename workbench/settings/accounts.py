"""django-allauth: login by e-mail address, TOTP and recovery codes, no open sign-up."""

from __future__ import annotations

from . import env

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_ADAPTER = "workbench.people.adapters.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_SUBJECT_PREFIX = "Arbiter Workbench: "
ACCOUNT_SESSION_REMEMBER = False
ACCOUNT_LOGOUT_ON_GET = False
#: Seconds for which a password given once more is enough for acts of an administrator.
ACCOUNT_REAUTHENTICATION_TIMEOUT = env.integer("REAUTHENTICATION_SECONDS", 900)
ASKS_AGAIN = True
#: A new address replaces the old one when the link in a message to it was followed; asking for it asks again.
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
#: Looks at the door, and wrong one-time codes after a right password. An office of fifty people comes from one address
#: at nine o'clock.
ACCOUNT_RATE_LIMITS = {"login": "300/m/ip", "login_failed": "100/10m/ip,10/10m/key"}
#: Wrong passwords (``workbench/accounts/door.py``): from a browser in which the account has signed in before; from any
#: other, for the pair of account and address, and for each of the two.
LOGIN_FAILURES = {
    "device": "10/10m/key",
    "pair": "10/10m/key",
    "account": "60/60m/key",
    "address": "100/10m/key",
}
#: Wrong passwords in an hour after which the account's owner is told by mail.
LOGIN_FAILURES_TOLD = 10
#: Proxies in front that append the caller's address to X-Forwarded-For. Attempts are counted by that address.
ALLAUTH_TRUSTED_PROXY_COUNT = env.integer("TRUSTED_PROXIES", 0)
#: Passkeys and security keys as a second factor. Needs HTTPS and the host name that people use.
WEBAUTHN = env.flag("WEBAUTHN", default=False)
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", *(["webauthn"] if WEBAUTHN else [])]
MFA_ADAPTER = "workbench.people.adapters.SecondFactorAdapter"
MFA_TOTP_ISSUER = "Arbiter Workbench"

#: A session ends after this many seconds without an act of its person; pages that look for news by themselves
#: are no act.
SESSION_IDLE_SECONDS = env.integer("SESSION_IDLE_SECONDS", 8 * 3600)
#: And after this many in any case.
SESSION_COOKIE_AGE = 24 * 3600
SESSION_SAVE_EVERY_REQUEST = False
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_HTTPONLY = True

from .sign_on import *  # noqa: F403
