"""Addresses of questions and runs. Pages that show decisions are in ``workbench.review.run_urls``."""

from django.urls import path

from . import views

app_name = "questions"
urlpatterns = [
    path("runs/<int:pk>/cancel/", views.run_cancel, name="cancel"),
    path("runs/<int:pk>/again/", views.run_again, name="rerun"),
    path("strategies/", views.strategies, name="strategies"),
]
