"""Addresses of sources; included at the root."""

from __future__ import annotations

from django.urls import path

from . import views

app_name = "sources"
urlpatterns = [
    path("collections/<slug:slug>/sources/", views.sources, name="sources"),
    path("sources/<int:pk>/", views.source, name="source"),
    path("sources/<int:pk>/switch/", views.switch, name="switch"),
    path("sources/<int:pk>/look/", views.look, name="look"),
    path("sources/files/<int:pk>/retry/", views.retry, name="retry"),
]
