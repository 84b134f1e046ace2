"""Addresses of the labeling workbench."""

from django.urls import path

from . import quality_views, views

app_name = "labeling"
urlpatterns = [
    path("labeling/", views.projects, name="projects"),
    path("labeling/corrected/", views.corrected, name="corrected"),
    path("labeling/projects/<int:pk>/", views.project, name="project"),
    path("labeling/projects/<int:pk>/fill/", views.fill, name="fill"),
    path("labeling/projects/<int:pk>/supply/", views.supply_change, name="supply"),
    path("labeling/projects/<int:pk>/elusion/", views.elusion, name="elusion"),
    path("labeling/projects/<int:pk>/guidelines/", views.guidelines, name="guidelines"),
    path("labeling/projects/<int:pk>/import/", views.import_file, name="import"),
    path("labeling/projects/<int:pk>/open/", views.set_open, name="open"),
    path("labeling/projects/<int:pk>/work/", views.work, name="work"),
    path("labeling/projects/<int:pk>/undo/", views.undo, name="undo"),
    path("labeling/desk/<int:pk>/answer/", views.answer, name="answer"),
    path("labeling/desk/<int:pk>/pass/", views.pass_over, name="pass"),
    path("labeling/desk/<int:pk>/release/", views.release, name="release"),
    path("labeling/adjudication/", quality_views.adjudication, name="adjudication"),
    path("labeling/adjudication/<int:pk>/", quality_views.dispute, name="dispute"),
    path("labeling/agreement/", quality_views.agreement, name="agreement"),
    path("collections/<slug:slug>/labels.csv", quality_views.export, name="export"),
]
