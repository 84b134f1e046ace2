"""The addresses of an installation with single sign-on, in the places where ``allauth.urls`` puts them."""

from __future__ import annotations

from django.urls import include, path

from workbench import urls

urlpatterns = [
    *urls.urlpatterns,
    path("accounts/3rdparty/", include("allauth.socialaccount.urls")),
    path("accounts/", include("allauth.socialaccount.providers.openid_connect.urls")),
]
handler403, handler404 = urls.handler403, urls.handler404
