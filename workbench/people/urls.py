"""Addresses of the people of a collection; included at the root."""

from __future__ import annotations

from django.urls import path

from . import views

app_name = "accounts"
urlpatterns = [
    path("collections/<slug:slug>/people/", views.people, name="people"),
    path("collections/<slug:slug>/people/invite/", views.invite, name="invite"),
    path("collections/<slug:slug>/people/<int:pk>/grant/", views.grant, name="grant"),
    path("collections/<slug:slug>/people/<int:pk>/revoke/", views.revoke, name="revoke"),
    path("collections/<slug:slug>/people/<int:pk>/invite/", views.invite_again, name="invite-again"),
]
