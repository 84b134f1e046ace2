"""Addresses of the models."""

from django.urls import path

from . import views

app_name = "models"
urlpatterns = [
    path("models/", views.models, name="models"),
    path("models/plan/", views.plan, name="plan"),
    path("models/start/", views.start, name="start"),
    path("models/schedule/", views.schedule, name="schedule"),
    path("models/drift/", views.drift, name="drift"),
    path("models/<int:pk>/", views.version, name="version"),
    path("models/<int:pk>/roll-back/", views.roll_back, name="roll-back"),
    path("models/<int:pk>/shadow/", views.shadow, name="shadow"),
    path("models/trainings/<int:pk>/", views.training, name="training"),
    path("models/trainings/<int:pk>/progress/", views.progress, name="progress"),
    path("models/trainings/<int:pk>/cancel/", views.cancel, name="cancel"),
    path("models/labels/<int:pk>/", views.label, name="label"),
]
