"""Addresses of exports."""

from django.urls import path

from . import link_views, views

app_name = "exports"
urlpatterns = [
    path("exports/", views.export_list, name="exports"),
    path("exports/<int:pk>/", views.export_detail, name="export"),
    path("exports/files/<int:pk>/", views.fetch, name="fetch"),
    path("runs/<int:pk>/export/", views.run_export, name="run"),
    path("period-report/", views.period_report, name="report"),
    path("runs/<int:pk>/links/", link_views.links, name="links"),
    path("links/<int:pk>/revoke/", link_views.revoke, name="link-revoke"),
    path("shared/<str:token>/", link_views.shared, name="shared"),
]
