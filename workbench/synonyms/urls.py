"""Addresses of the vocabulary."""

from django.urls import path

from . import views

app_name = "vocabulary"
urlpatterns = [
    path("collections/<slug:slug>/vocabulary/", views.vocabulary, name="vocabulary"),
    path("collections/<slug:slug>/vocabulary/import/", views.import_entries, name="import"),
    path("collections/<slug:slug>/vocabulary/export.csv", views.export_entries, name="export"),
    path("vocabulary/<int:pk>/decide/", views.decide, name="decide"),
]
