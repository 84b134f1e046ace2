"""What allauth says happened, put on record. No logic: each hands over to a service."""

from __future__ import annotations

from typing import Any

from allauth.account import signals as account_signals
from allauth.mfa import signals as mfa_signals
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.http import HttpRequest
from django.utils import timezone

from workbench.accounts.door import device_remember
from workbench.accounts.middleware import ACTED_AT
from workbench.accounts.models import User
from workbench.infra.addresses import address_of

from .services import account_event_record


def _recorder(event: str) -> Any:
    def receive(*, request: HttpRequest | None = None, user: User | None = None, **_: Any) -> None:
        if user is not None:
            account_event_record(user=user, event=event, address=address_of(request))

    return receive


def _authenticator_recorder(event: str) -> Any:
    def receive(*, request: HttpRequest, user: User, authenticator: Any = None, **_: Any) -> None:
        kind = {"kind": str(authenticator.type)} if authenticator else {}
        account_event_record(user=user, event=event, address=address_of(request), **kind)

    return receive


def _address_recorder(event: str) -> Any:
    def receive(
        *,
        request: HttpRequest | None = None,
        user: User | None = None,
        email_address: Any = None,
        from_email_address: Any = None,
        to_email_address: Any = None,
        **_: Any,
    ) -> None:
        known = {"email": to_email_address or email_address, "before": from_email_address}
        details = {name: row.email for name, row in known.items() if row}
        owner = user or (email_address.user if email_address else None)
        account_event_record(user=owner, event=event, address=address_of(request), **details)

    return receive


_SIGNALS = [
    (account_signals.email_added, _address_recorder("email_added")),
    (account_signals.email_confirmed, _address_recorder("email_confirmed")),
    (account_signals.email_changed, _address_recorder("email_changed")),
    (account_signals.email_removed, _address_recorder("email_removed")),
    (account_signals.user_logged_in, _recorder("logged_in")),
    (user_logged_out, _recorder("logged_out")),
    (account_signals.password_changed, _recorder("password_changed")),
    (account_signals.password_set, _recorder("password_set")),
    (account_signals.password_reset, _recorder("password_reset")),
    (mfa_signals.authenticator_added, _authenticator_recorder("authenticator_added")),
    (mfa_signals.authenticator_removed, _authenticator_recorder("authenticator_removed")),
    (mfa_signals.authenticator_reset, _authenticator_recorder("authenticator_reset")),
]


def _start_idle_clock(*, request: HttpRequest | None = None, **_: Any) -> None:
    """A login is the session's first act (``middleware.IdleLockMiddleware``)."""
    if request is not None:
        request.session[ACTED_AT] = timezone.now().timestamp()


def _remember_device(*, request: HttpRequest | None = None, user: User | None = None, **_: Any) -> None:
    """Whoever signed in, or set a password by the link in a mail, may try again from this browser."""
    if request is not None and user is not None:
        device_remember(request, user=user)


def connect() -> None:
    """Starts listening; called once, when the application is ready."""
    user_logged_in.connect(_start_idle_clock, weak=False, dispatch_uid="accounts.idle")
    for number, signal in enumerate((user_logged_in, account_signals.password_reset)):
        signal.connect(_remember_device, weak=False, dispatch_uid=f"accounts.device.{number}")
    for number, (signal, receiver) in enumerate(_SIGNALS):
        signal.connect(receiver, weak=False, dispatch_uid=f"accounts.audit.{number}")
