"""Addresses of webhooks; included at the root."""

from django.urls import path

from . import views

app_name = "webhooks"
urlpatterns = [
    path("collections/<slug:slug>/webhooks/", views.webhooks, name="webhooks"),
    path("webhooks/<int:pk>/", views.webhook, name="webhook"),
    path("webhooks/<int:pk>/change/", views.change, name="change"),
    path("webhooks/<int:pk>/secret/", views.secret, name="secret"),
    path("webhooks/<int:pk>/switch/", views.switch, name="switch"),
    path("webhooks/<int:pk>/test/", views.test, name="test"),
    path("webhooks/<int:pk>/repeat-missed/", views.repeat_missed, name="repeat-missed"),
    path("webhooks/deliveries/<int:pk>/repeat/", views.repeat, name="repeat"),
]
