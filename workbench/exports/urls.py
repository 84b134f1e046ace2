"""Addresses of exports."""

from __future__ import annotations

from django.urls import path

from . import views

app_name = "exports"
urlpatterns = [
    path("exports/", views.export_list, name="exports"),
    path("exports/<int:pk>/", views.export_detail, name="export"),
    path("exports/files/<int:pk>/", views.fetch, name="fetch"),
    path("runs/<int:pk>/export/", views.run_export, name="run"),
]
