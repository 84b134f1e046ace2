"""Addresses of questions and runs."""

from __future__ import annotations

from django.urls import path

from . import views

app_name = "questions"
urlpatterns = [
    path("ask/", views.ask, name="ask"),
    path("runs/", views.run_list, name="runs"),
    path("runs/<int:pk>/", views.run_detail, name="run"),
    path("runs/<int:pk>/record.json", views.run_json, name="record"),
    path("runs/<int:pk>/cancel/", views.run_cancel, name="cancel"),
    path("strategies/", views.strategies, name="strategies"),
    path("compare/", views.compare, name="compare"),
    path("comparisons/<int:pk>/", views.comparison_detail, name="comparison"),
    path("comparisons/<int:pk>/decide/", views.comparison_decide, name="comparison-decide"),
    path("runs/<int:pk>/again/", views.run_again, name="rerun"),
    path("candidates/<int:pk>/evidence/", views.evidence, name="evidence"),
]
