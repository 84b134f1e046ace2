"""The trail; included at ``audit/``."""

from __future__ import annotations

from django.urls import path

from . import views

app_name = "audit"
urlpatterns = [
    path("", views.trail, name="trail"),
    path("verify/", views.verify, name="verify"),
    path("anchor/", views.anchor, name="anchor"),
]
