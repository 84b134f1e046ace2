"""SAML as allauth has it, and each assertion once. Loaded only where SAML is set up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from allauth.socialaccount.providers.saml.provider import SAMLProvider
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils import timezone

from .models import UsedAssertion

#: How long an assertion is remembered that does not say when it ends.
_KEPT = timedelta(days=1)


class SamlProvider(SAMLProvider):
    """A sign-on that began here fits the one session it began in. One that began at the provider fits any, and would
    open the door again for whoever kept a copy: so each assertion counts once."""

    #: Where allauth looks for the addresses.
    package = SAMLProvider.get_package()

    def sociallogin_from_response(self, request: HttpRequest, response: Any) -> Any:
        """The sign-on. Raises ``PermissionDenied`` for an assertion that was used."""
        assertion_use(
            name=response.get_last_assertion_id(), ends=response.get_last_assertion_not_on_or_after()
        )
        return super().sociallogin_from_response(request, response)


def assertion_use(*, name: str | None, ends: int | None) -> None:
    """Remembers an assertion as used. Raises ``PermissionDenied`` where it was, or has no name."""
    now = timezone.now()
    until = datetime.fromtimestamp(ends, UTC) if ends else now + _KEPT
    UsedAssertion.objects.filter(until__lt=now - _KEPT).delete()
    if not name:
        raise PermissionDenied
    try:
        with transaction.atomic():
            UsedAssertion.objects.create(name=name[:255], until=until)
    except IntegrityError as error:
        raise PermissionDenied from error


provider_classes = [SamlProvider]
