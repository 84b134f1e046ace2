"""With WEBAUTHN=1 a person adds a key, signs in with it as second factor, and nobody signs in with another one."""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from django.test import Client
from fido2 import cbor
from fido2.cose import ES256
from fido2.utils import websafe_encode

from tests.workbench.cast import PASSWORD, Cast
from workbench.audit.models import AuditEvent

ORIGIN, HOST = "https://testserver", "testserver"
PRESENT, ATTESTED = 0x01, 0x40


class SoftKey:
    """An authenticator without a case (W3C WebAuthn, level 2, sections 6.1 and 6.5; attestation "none")."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._id = os.urandom(16)
        self._used = 0

    def created(self, options: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request for a new key."""
        public = cbor.encode(dict(ES256.from_cryptography_key(self._key.public_key())))
        attested = bytes(16) + struct.pack(">H", len(self._id)) + self._id + public
        data = self._data(PRESENT | ATTESTED) + attested
        attestation = cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})
        return self._answer(
            clientDataJSON=_client_data("webauthn.create", options), attestationObject=attestation
        )

    def signed(self, options: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request to sign in."""
        data, client = self._data(PRESENT), _client_data("webauthn.get", options)
        signature = self._key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer(clientDataJSON=client, authenticatorData=data, signature=signature)

    def _data(self, flags: int) -> bytes:
        self._used += 1
        return hashlib.sha256(HOST.encode()).digest() + struct.pack(">BI", flags, self._used)

    def _answer(self, **response: bytes) -> dict[str, Any]:
        name = websafe_encode(self._id)
        encoded = {key: websafe_encode(value) for key, value in response.items()}
        return {
            "id": name,
            "rawId": name,
            "type": "public-key",
            "response": encoded,
            "clientExtensionResults": {},
        }


def _client_data(kind: str, options: dict[str, Any]) -> bytes:
    said = {"type": kind, "challenge": options["publicKey"]["challenge"], "origin": ORIGIN}
    return json.dumps(said).encode()


def options_on(page: bytes) -> dict[str, Any]:
    """What the page's script hands to the browser."""
    found = re.search(rb'<script id="js_data"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found, page[-3000:]
    data = json.loads(found[1])
    return data.get("creation_options") or data.get("request_options") or data.get("credentials") or data


@pytest.fixture
def with_keys(settings: Any) -> None:
    settings.MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
    settings.ROOT_URLCONF = "tests.workbench.accounts.optional_urls"


def password_given(email: str) -> Client:
    client = Client()
    client.post("/accounts/login/", {"login": email, "password": PASSWORD}, secure=True)
    return client


@pytest.mark.usefixtures("with_keys")
def test_a_key_is_added_and_asked_for(cast: Cast) -> None:
    client, key = password_given(cast.analyst.email), SoftKey()
    assert b"/accounts/2fa/webauthn/add/" in client.get("/accounts/2fa/", secure=True).content
    add = "/accounts/2fa/webauthn/add/"
    assert client.get(add, secure=True)["Location"].startswith("/accounts/reauthenticate/")
    client.post("/accounts/reauthenticate/", {"password": PASSWORD}, secure=True)
    page = client.get(add, secure=True)
    assert b"<script>" not in page.content, "the content security policy refuses inline scripts"
    credential = json.dumps(key.created(options_on(page.content)))
    assert client.post(add, {"name": "Blue key", "credential": credential}, secure=True).status_code == 302
    assert AuditEvent.objects.get(action="account.authenticator_added").after["kind"] == "webauthn"
    assert b"1 key can be used" in client.get("/accounts/2fa/", secure=True).content

    for used, comes_in in ((SoftKey(), False), (key, True)):
        client = password_given(cast.analyst.email)
        assert client.get("/", secure=True).status_code == 302, "the password alone is not enough"
        page = client.get("/accounts/2fa/authenticate/", secure=True)
        answer = json.dumps(used.signed(options_on(page.content)))
        client.post("/accounts/2fa/authenticate/", {"credential": answer}, secure=True)
        assert (client.get("/", secure=True).status_code == 200) is comes_in


def test_without_the_setting_no_page_offers_one(cast: Cast) -> None:
    assert b"webauthn" not in password_given(cast.analyst.email).get("/accounts/2fa/", secure=True).content
