"""Sign-on by SAML against a provider that signs for itself: who comes in, and what opens nothing."""

from __future__ import annotations

import base64
import sys
import uuid
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings as project
from django.contrib import admin
from django.db import connection
from django.test import Client, override_settings
from django.urls import clear_url_caches
from lxml import etree
from onelogin.saml2.utils import OneLogin_Saml2_Utils

from tests.workbench.cast import Cast
from workbench.accounts.models import Membership
from workbench.directory.groups import group_role_add
from workbench.settings import sign_on

APPS = ["allauth.socialaccount", "allauth.socialaccount.providers.saml"]
URLS = "tests.workbench.people.sign_on_urls"
IDP, SSO = "https://idp.example/saml", "https://idp.example/saml/sso"
HOST = "workbench.example"
HERE = f"http://{HOST}/accounts/saml/saml"
RESPONSE = """<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"
 xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_{response}" Version="2.0" IssueInstant="{now}"
 Destination="{audience_of}/acs/"{answers}><saml:Issuer>{issuer}</saml:Issuer><samlp:Status><samlp:StatusCode
 Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status><saml:Assertion ID="_{assertion}" Version="2.0"
 IssueInstant="{now}"><saml:Issuer>{issuer}</saml:Issuer><saml:Subject><saml:NameID
 Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress">{email}</saml:NameID><saml:SubjectConfirmation
 Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData NotOnOrAfter="{end}"
 Recipient="{audience_of}/acs/"{answers}/></saml:SubjectConfirmation></saml:Subject><saml:Conditions
 NotBefore="{begin}" NotOnOrAfter="{end}"><saml:AudienceRestriction>
<saml:Audience>{audience_of}/metadata/</saml:Audience></saml:AudienceRestriction></saml:Conditions>
<saml:AuthnStatement AuthnInstant="{now}" SessionIndex="_s"><saml:AuthnContext>
<saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext>
</saml:AuthnStatement><saml:AttributeStatement><saml:Attribute Name="groups">{groups}</saml:Attribute>
</saml:AttributeStatement></saml:Assertion></samlp:Response>"""


class Provider:
    """An identity provider: its key, its certificate, and what it says of people."""

    def __init__(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "idp.example")])
        now = datetime.now(UTC)
        made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        made = made.serial_number(1).not_valid_before(now - timedelta(days=1))
        signed = made.not_valid_after(now + timedelta(days=2)).sign(key, hashes.SHA256())
        self.certificate = signed.public_bytes(serialization.Encoding.PEM).decode()
        self.key = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()

    def response(
        self, *, email: str, answers: str = "", groups: tuple[str, ...] = (), sign: bool = True, **other: str
    ) -> str:
        """A response with a signed assertion, as a browser posts it."""
        now, shape = datetime.now(UTC), "%Y-%m-%dT%H:%M:%SZ"
        values = "".join(f"<saml:AttributeValue>{group}</saml:AttributeValue>" for group in groups)
        said = {
            "response": uuid.uuid4().hex,
            "assertion": uuid.uuid4().hex,
            "now": now.strftime(shape),
            "begin": (now - timedelta(minutes=1)).strftime(shape),
            "end": (now + timedelta(minutes=5)).strftime(shape),
            "issuer": IDP,
            "audience_of": HERE,
            "email": email,
            "groups": values,
            "answers": f' InResponseTo="{answers}"' if answers else "",
        }
        text = RESPONSE.format(**(said | other))
        return base64.b64encode(self._signed(text) if sign else text.encode()).decode()

    def _signed(self, text: str) -> bytes:
        tree = etree.fromstring(text)
        (assertion,) = tree.findall("{urn:oasis:names:tc:SAML:2.0:assertion}Assertion")
        signed = OneLogin_Saml2_Utils.add_sign(etree.tostring(assertion), self.key, self.certificate)
        tree.replace(assertion, etree.fromstring(signed))
        return bytes(etree.tostring(tree))


@pytest.fixture(scope="module")
def idp() -> Provider:
    return Provider()


@pytest.fixture
def installed(db: None, idp: Provider) -> Iterator[Any]:
    """An installation with the provider; gives a way to allow sign-ons that begin there."""
    registered = set(admin.site._registry)
    app = sign_on._saml_app(sso_url=SSO, entity_id=IDP, certificate=idp.certificate)
    with override_settings(
        INSTALLED_APPS=[*project.INSTALLED_APPS, *APPS],
        SOCIALACCOUNT_PROVIDERS={"saml": {"APPS": [app]}},
        SAML_GROUPS_ATTRIBUTE="groups",
        ROOT_URLCONF=URLS,
        ALLOWED_HOSTS=[HOST],
    ):
        from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
        from allauth.socialaccount.providers import registry

        sys.modules.pop(URLS, None)  # they follow what is installed
        clear_url_caches()
        with connection.schema_editor() as editor:
            for model in (SocialApp, SocialAccount, SocialToken):
                editor.create_model(model)
        yield app["settings"]["advanced"]
        for model in set(admin.site._registry) - registered:
            admin.site.unregister(model)
        registry.provider_map.pop("saml")
    sys.modules.pop(URLS, None)
    clear_url_caches()


def browser() -> Client:
    """Says which host it asks, as every real one does."""
    return Client(headers={"Host": HOST})


def asked(client: Client) -> str:
    """Begins a sign-on here; gives the key of the request that the provider is sent."""
    away = client.post("/accounts/saml/saml/login/")
    assert away["Location"].startswith(f"{SSO}?")
    sent = parse_qs(urlsplit(away["Location"]).query)["SAMLRequest"][0]
    return str(etree.fromstring(zlib.decompress(base64.b64decode(sent), -15)).get("ID"))


def come_back(client: Client, response: str) -> Any:
    """The browser posts the provider's answer from the provider's page."""
    posted = client.post("/accounts/saml/saml/acs/", {"SAMLResponse": response, "RelayState": ""})
    return client.get(posted["Location"])


def is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_who_has_an_account_comes_in_with_the_roles_of_the_groups(
    installed: Any, idp: Provider, cast: Cast, settings: Any
) -> None:
    settings.GROUP_ROLES_OPEN = True
    group_role_add(actor=cast.admin, collection=cast.alpha, group="Legal & Risk", role="reviewer")
    client = browser()
    assert b"/accounts/saml/saml/login/" in client.get("/accounts/login/").content
    come_back(
        client,
        idp.response(email=cast.analyst.email, answers=asked(client), groups=("Legal &amp; Risk", "Other")),
    )
    assert client.session["_auth_user_id"] == str(cast.analyst.pk)
    held = set(Membership.objects.filter(user=cast.analyst).values_list("role", flat=True))
    assert held == {"analyst", "reviewer"}

    later = browser()
    come_back(later, idp.response(email=cast.analyst.email, answers=asked(later), groups=("Other",)))
    assert is_in(later)
    assert set(Membership.objects.filter(user=cast.analyst).values_list("role", flat=True)) == {"analyst"}


def test_no_account_is_made(installed: Any, idp: Provider, cast: Cast) -> None:
    client = browser()
    come_back(client, idp.response(email="stranger@example.org", answers=asked(client)))
    assert not is_in(client)


@pytest.mark.parametrize("case", ["unsigned", "of another", "changed", "audience", "late", "issuer"])
def test_what_the_provider_did_not_say_opens_nothing(
    case: str, installed: Any, idp: Provider, cast: Cast
) -> None:
    client = browser()
    common = {"email": cast.analyst.email, "answers": asked(client)}
    match case:
        case "unsigned":
            response = idp.response(**common, sign=False)
        case "of another":
            response = Provider().response(**common)
        case "changed":
            response = idp.response(**(common | {"email": "nobody@example.org"}))
            text = base64.b64decode(response).replace(b"nobody@example.org", cast.analyst.email.encode())
            response = base64.b64encode(text).decode()
        case "audience":
            response = idp.response(**common, audience_of="https://elsewhere.example/accounts/saml/saml")
        case "late":
            response = idp.response(**common, end="2020-01-01T00:00:00Z")
        case _:
            response = idp.response(**common, issuer="https://other.example")
    come_back(client, response)
    assert not is_in(client)


def test_an_answer_counts_once_and_in_the_browser_that_asked(
    installed: Any, idp: Provider, cast: Cast
) -> None:
    client, thief = browser(), browser()
    response = idp.response(email=cast.analyst.email, answers=asked(client))
    come_back(thief, response)
    assert not is_in(thief)

    response = idp.response(email=cast.analyst.email, answers=asked(client))
    come_back(client, response)
    assert is_in(client)
    client.post("/accounts/logout/")
    assert not is_in(client)
    assert come_back(client, response).status_code == 403
    assert not is_in(client)


def test_what_nobody_asked_for_is_refused_unless_it_is_allowed_and_then_counts_once(
    installed: Any, idp: Provider, cast: Cast
) -> None:
    response, client = idp.response(email=cast.analyst.email), browser()
    come_back(client, response)
    assert not is_in(client)

    installed["reject_idp_initiated_sso"] = False
    response = idp.response(email=cast.analyst.email)
    come_back(client, response)
    assert is_in(client)
    again = browser()
    assert come_back(again, response).status_code == 403
    assert not is_in(again)


def test_who_was_switched_off_stays_out(installed: Any, idp: Provider, cast: Cast) -> None:
    type(cast.analyst).objects.filter(pk=cast.analyst.pk).update(is_active=False)
    client = browser()
    come_back(client, idp.response(email=cast.analyst.email, answers=asked(client)))
    assert not is_in(client)


def test_the_product_describes_itself_to_the_provider(installed: Any) -> None:
    told = browser().get("/accounts/saml/saml/metadata/")
    assert told.status_code == 200
    assert f"{HERE}/acs/".encode() in told.content
