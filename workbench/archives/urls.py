"""Addresses of archives."""

from __future__ import annotations

from django.urls import path

from . import views

app_name = "archives"
urlpatterns = [
    path("collections/<slug:slug>/archive/", views.of_collection, name="collection"),
    path("archives/", views.sent, name="sent"),
    path("archives/<int:pk>/", views.archive, name="archive"),
    path("archives/<int:pk>/take-in/", views.take_in, name="take-in"),
    path("archives/<int:pk>/remove/", views.remove, name="remove"),
    path("archives/<int:pk>/file/", views.fetch, name="fetch"),
]
