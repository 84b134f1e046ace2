"""The addresses of an installation with single sign-on, in the places where ``allauth.urls`` puts them."""

from __future__ import annotations

from django.apps import apps
from django.urls import include, path

from workbench import urls

_PROVIDERS = "allauth.socialaccount.providers"
urlpatterns = [
    *urls.urlpatterns,
    path("accounts/3rdparty/", include("allauth.socialaccount.urls")),
    *(
        path("accounts/", include(f"{_PROVIDERS}.{name}.urls"))
        for name in ("openid_connect", "saml")
        if apps.is_installed(f"{_PROVIDERS}.{name}")
    ),
]
handler403, handler404 = urls.handler403, urls.handler404
