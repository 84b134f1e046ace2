"""Addresses of decisions and the queue."""

from __future__ import annotations

from django.urls import path

from . import signing_views, views

app_name = "review"
urlpatterns = [
    path("queue/", views.queue, name="queue"),
    path("queue/next/", views.queue_next, name="next"),
    path("queue/<int:pk>/", views.queue_item, name="item"),
    path("queue/<int:pk>/claim/", views.queue_claim, name="claim"),
    path("queue/<int:pk>/release/", views.queue_release, name="release"),
    path("candidates/<int:pk>/approve/", views.approve, name="approve"),
    path("candidates/<int:pk>/override/", views.override, name="override"),
    path("candidates/<int:pk>/unsure/", views.unsure, name="unsure"),
    path("runs/<int:pk>/not-found/", views.not_found, name="not-found"),
    path("runs/<int:pk>/sign/", signing_views.sign, name="sign"),
    path("runs/<int:pk>/reopen/", signing_views.reopen, name="reopen"),
]
