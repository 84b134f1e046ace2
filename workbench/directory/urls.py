"""Addresses of the groups of a collection; included at the root."""

from __future__ import annotations

from django.urls import path

from . import views

app_name = "directory"
urlpatterns = [
    path("collections/<slug:slug>/groups/", views.groups, name="groups"),
    path("collections/<slug:slug>/groups/<int:pk>/remove/", views.group_remove, name="group-remove"),
]
