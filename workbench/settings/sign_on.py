"""Single sign-on, where the installation has it: OpenID Connect, SAML, or both."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from . import env

_FROM_REGISTRATION = "The provider gives it with the registration."

# The provider says who somebody is; whether they have an account is decided here, by invitation or by SCIM.
SOCIALACCOUNT_ADAPTER = "workbench.people.adapters.SingleSignOnAdapter"
SOCIALACCOUNT_ONLY = False
SOCIALACCOUNT_AUTO_SIGNUP = False
SOCIALACCOUNT_EMAIL_AUTHENTICATION = True
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_PROVIDERS: dict[str, Any] = {}
#: Apps that single sign-on needs, and the hosts that its buttons lead to.
SIGN_ON_APPS: list[str] = []
SIGN_ON_HOSTS: list[str] = []


def _host(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


# --- OpenID Connect ------------------------------------------------------------------------------------------

OIDC_SERVER_URL = env.text("OIDC_SERVER_URL")
OIDC_NAME = env.text("OIDC_NAME", "Single sign-on")
#: The claim that lists a person's groups, such as groups; empty: groups are not read.
OIDC_GROUPS_CLAIM = env.text("OIDC_GROUPS_CLAIM")
if OIDC_SERVER_URL:
    SIGN_ON_APPS += ["allauth.socialaccount", "allauth.socialaccount.providers.openid_connect"]
    SIGN_ON_HOSTS += [_host(OIDC_SERVER_URL)]
    SOCIALACCOUNT_PROVIDERS["openid_connect"] = {
        "APPS": [
            {
                "provider_id": "oidc",
                "name": OIDC_NAME,
                "client_id": env.required("OIDC_CLIENT_ID", _FROM_REGISTRATION),
                "secret": env.required("OIDC_CLIENT_SECRET", _FROM_REGISTRATION),
                "settings": {"server_url": OIDC_SERVER_URL},
            }
        ],
        "OAUTH_PKCE_ENABLED": True,
    }

# --- SAML ----------------------------------------------------------------------------------------------------

#: The address at the provider that people are sent to; without it there is no SAML.
SAML_SSO_URL = env.text("SAML_SSO_URL")
SAML_NAME = env.text("SAML_NAME", "Single sign-on")
#: The attribute that holds the e-mail address; empty: the usual ones, else the NameID where it is an address.
SAML_EMAIL_ATTRIBUTE = env.text("SAML_EMAIL_ATTRIBUTE")
#: The attribute that lists a person's groups; empty: groups are not read.
SAML_GROUPS_ATTRIBUTE = env.text("SAML_GROUPS_ATTRIBUTE")
#: Whether a sign-on may begin at the provider, from its page of programs.
SAML_UNSOLICITED = env.flag("SAML_UNSOLICITED", default=False)


def _saml_app(*, sso_url: str, entity_id: str, certificate: str) -> dict[str, Any]:
    """The provider as allauth takes it. A company's own provider vouches for the addresses of its people."""
    settings: dict[str, Any] = {
        "idp": {"entity_id": entity_id, "sso_url": sso_url, "x509cert": certificate},
        "advanced": {
            "reject_idp_initiated_sso": not SAML_UNSOLICITED,
            "strict": True,
            "allow_single_label_domains": True,  # a host of the house's own network
        },
        "verified_email": True,
    }
    if SAML_EMAIL_ATTRIBUTE:
        settings["attribute_mapping"] = {"email": SAML_EMAIL_ATTRIBUTE}
    return {"provider_id": entity_id, "name": SAML_NAME, "client_id": "saml", "settings": settings}


if SAML_SSO_URL:
    if find_spec("onelogin") is None:
        raise ImproperlyConfigured("SAML needs an extra. Install arbiter-workbench[saml].")
    SIGN_ON_APPS += ["allauth.socialaccount", "allauth.socialaccount.providers.saml"]
    SIGN_ON_HOSTS += [_host(SAML_SSO_URL)]
    SOCIALACCOUNT_PROVIDERS["saml"] = {
        "APPS": [
            _saml_app(
                sso_url=SAML_SSO_URL,
                entity_id=env.required("SAML_ENTITY_ID", "The provider's own name, from its metadata."),
                certificate=env.required("SAML_CERTIFICATE", "The provider's signing certificate, as PEM."),
            )
        ]
    }

# --- groups --------------------------------------------------------------------------------------------------

#: Whether admins of a collection may give a role to any group of the directory, whose members they then see. Otherwise
#: to groups that they belong to; administrators of the installation to any.
GROUP_ROLES_OPEN = env.flag("GROUP_ROLES_OPEN", default=False)

SIGN_ON_APPS = list(dict.fromkeys(SIGN_ON_APPS))
