"""Addresses of document versions, beside those of documents: their pages tell what became of decisions."""

from django.urls import path

from . import version_views

urlpatterns = [
    path("documents/<int:pk>/versions/", version_views.versions, name="versions"),
    path("documents/<int:pk>/versions/decide/", version_views.decide, name="version-decide"),
]
