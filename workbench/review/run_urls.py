"""Addresses of asking and of runs as people read and decide them; their names are those of ``questions``."""

from django.urls import path

from . import run_views as views

urlpatterns = [
    path("ask/", views.ask, name="ask"),
    path("runs/", views.run_list, name="runs"),
    path("runs/<int:pk>/", views.run_detail, name="run"),
    path("runs/<int:pk>/record.json", views.run_json, name="record"),
    path("compare/", views.compare, name="compare"),
    path("comparisons/<int:pk>/", views.comparison_detail, name="comparison"),
    path("comparisons/<int:pk>/decide/", views.comparison_decide, name="comparison-decide"),
    path("candidates/<int:pk>/evidence/", views.evidence, name="evidence"),
]
