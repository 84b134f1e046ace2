"""Addresses of collections and documents."""

from __future__ import annotations

from django.urls import path

from . import erasure_views, views

# Named documents: in the addresses of the whole, which adds those of versions.
urlpatterns = [
    path("collections/", views.collection_list, name="collections"),
    path("collections/<slug:slug>/", views.collection_detail, name="collection"),
    path("collections/<slug:slug>/upload/", views.upload, name="upload"),
    path("collections/<slug:slug>/describe/", views.documents_describe, name="bulk"),
    path("collections/<slug:slug>/fields/", views.collection_fields, name="fields"),
    path("documents/<int:pk>/", views.document_detail, name="document"),
    path("documents/<int:pk>/status/", views.document_status, name="status"),
    path("documents/<int:pk>/retry/", views.document_retry, name="retry"),
    path("documents/<int:pk>/cancel/", views.document_cancel, name="cancel"),
    path("documents/<int:pk>/delete/", erasure_views.document_delete, name="delete"),
    path("documents/<int:pk>/keep/", erasure_views.document_keep, name="keep"),
    path("documents/<int:pk>/describe/", views.document_describe, name="describe"),
    path("documents/<int:pk>/restrict/", views.document_restrict, name="restrict"),
    path("documents/<int:pk>/original/", views.document_original, name="original"),
    path("documents/<int:pk>/beside/<int:other>/", views.documents_beside, name="beside"),
    path("documents/<int:pk>/citation/", views.document_citation, name="citation"),
    path("documents/<int:pk>/pages/<int:page_num>.png", views.page_image, name="page-image"),
    path("documents/<int:pk>/pages/<int:page_num>/picture", views.page_picture, name="page-picture"),
]
