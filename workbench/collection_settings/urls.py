"""Addresses of a collection's settings; included at the root."""

from django.urls import path

from . import views

app_name = "collection_settings"
urlpatterns = [
    path("collections/<slug:slug>/settings/", views.settings_page, name="settings"),
    path("collections/<slug:slug>/settings/change/", views.change, name="change"),
    path("collections/<slug:slug>/settings/hold/", views.hold, name="hold"),
    path("collections/<slug:slug>/settings/retention/", views.retention, name="retention"),
    path("collections/<slug:slug>/settings/thresholds/", views.thresholds, name="thresholds"),
    path("collections/<slug:slug>/settings/thresholds/apply/", views.apply_proposal, name="apply"),
    path("collections/<slug:slug>/settings/thresholds/remove/", views.remove_thresholds, name="remove"),
]
