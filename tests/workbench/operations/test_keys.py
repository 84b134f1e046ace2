"""``manage.py rotate_keys``: after it, only sessions hang on the former key, or it is said what else does."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.core.management import call_command

from tests.webhook_receiver import Receiver
from tests.workbench.cast import Cast
from tests.workbench.webhooks.conftest import receiver  # noqa: F401 - the fixture
from tests.workbench.webhooks.sent import registered
from workbench.accounts.second_factors import opened
from workbench.audit.models import AuditEvent
from workbench.webhooks.services import webhook_secret_renew

pytestmark = pytest.mark.django_db
NEW_KEY = "a-new-key-that-somebody-made-for-the-installation"


def rotated() -> dict[str, Any]:
    output = io.StringIO()
    call_command("rotate_keys", "--json", stdout=output)
    return json.loads(output.getvalue())


def key_changed(settings: Any) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = NEW_KEY


def secrets_kept() -> list[str | None]:
    data = Authenticator.objects.order_by("pk").values_list("data", flat=True)
    return [opened(row.get("secret") or row.get("seed")) for row in data]


def test_the_former_key_may_go_once_factors_are_under_the_new_one(cast: Cast, settings: Any) -> None:
    secret = generate_totp_secret()
    TOTP.activate(cast.analyst, secret)
    codes = RecoveryCodes.activate(cast.analyst)
    codes.validate_code(unused := codes.get_unused_codes()[0])
    key_changed(settings)

    assert rotated()["second_factors"] == {"renewed": 2, "current": 0, "lost": 0}

    settings.SECRET_KEY_FALLBACKS = []
    assert secrets_kept()[0] == secret
    again = RecoveryCodes(Authenticator.objects.get(type="recovery_codes")).get_unused_codes()
    assert unused not in again, "a code that was used stays used"
    assert len(again) == len(codes.get_unused_codes())
    assert rotated()["second_factors"] == {"renewed": 0, "current": 2, "lost": 0}
    assert AuditEvent.objects.filter(action="installation.keys_rotated").count() == 2


def test_a_secret_from_before_encryption_is_encrypted(cast: Cast) -> None:
    factor = TOTP.activate(cast.analyst, "JBSWY3DPEHPK3PXP").instance
    Authenticator.objects.filter(pk=factor.pk).update(data={"secret": "JBSWY3DPEHPK3PXP"})
    assert rotated()["second_factors"]["renewed"] == 1
    factor.refresh_from_db()
    assert factor.data["secret"].startswith("v1:")
    assert opened(factor.data["secret"]) == "JBSWY3DPEHPK3PXP"


def test_a_secret_of_an_unknown_key_is_told_and_left(cast: Cast, settings: Any) -> None:
    factor = TOTP.activate(cast.analyst, generate_totp_secret()).instance
    before = Authenticator.objects.get(pk=factor.pk).data
    settings.SECRET_KEY, former = NEW_KEY, settings.SECRET_KEY
    assert rotated()["second_factors"] == {"renewed": 0, "current": 0, "lost": 1}
    assert Authenticator.objects.get(pk=factor.pk).data == before
    settings.SECRET_KEY_FALLBACKS = [former]
    assert rotated()["second_factors"]["renewed"] == 1


def test_webhooks_of_the_former_key_are_named_until_they_have_a_new_secret(
    cast: Cast,
    receiver: Receiver,  # noqa: F811 - the fixture
    settings: Any,
) -> None:
    webhook, _ = registered(cast, receiver)
    assert rotated()["may_end"]
    key_changed(settings)
    report = rotated()
    assert (report["webhooks"], report["may_end"]) == ([webhook.get_absolute_url()], False)
    webhook_secret_renew(actor=cast.admin, webhook=webhook)
    assert rotated()["may_end"]
    assert "You can empty SECRET_KEY_FALLBACKS" in in_words()


def in_words() -> str:
    output = io.StringIO()
    call_command("rotate_keys", stdout=output)
    return output.getvalue()
