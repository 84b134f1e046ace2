"""Addresses of SCIM."""

from __future__ import annotations

from django.urls import path

from . import scim

app_name = "scim"
urlpatterns = [
    path("ServiceProviderConfig", scim.ConfigurationView.as_view(), name="configuration"),
    path("Schemas", scim.SchemasView.as_view(), name="schemas"),
    path("Schemas/<str:pk>", scim.SchemasView.as_view(), name="schema"),
    path("ResourceTypes", scim.ResourceTypesView.as_view(), name="resource-types"),
    path("ResourceTypes/<str:pk>", scim.ResourceTypesView.as_view(), name="resource-type"),
    path("Users", scim.ListView.as_view(kind=scim.PEOPLE), name="users"),
    path("Users/<int:pk>", scim.ItemView.as_view(kind=scim.PEOPLE), name="user"),
    path("Groups", scim.ListView.as_view(kind=scim.GROUPS), name="groups"),
    path("Groups/<int:pk>", scim.ItemView.as_view(kind=scim.GROUPS), name="group"),
]
