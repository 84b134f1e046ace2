"""The addresses of an installation with passkeys: allauth adds them where the setting is on when the map is read."""

from __future__ import annotations

from django.urls import include, path

from workbench import urls

urlpatterns = [*urls.urlpatterns, path("accounts/2fa/webauthn/", include("allauth.mfa.webauthn.urls"))]
handler403, handler404 = urls.handler403, urls.handler404
