"""Addresses of question sets."""

from django.urls import path, re_path

from . import views

app_name = "question_sets"
urlpatterns = [
    path("sets/", views.set_list, name="sets"),
    path("sets/<int:pk>/", views.set_detail, name="set"),
    path("sets/<int:pk>/questions/", views.set_change, name="change"),
    path("sets/<int:pk>/ask/", views.round_start, name="start"),
    path("rounds/<int:pk>/", views.round_detail, name="round"),
    re_path(
        r"^rounds/(?P<pk>[0-9]+)/export\.(?P<kind>csv|jsonl|xlsx|docx)$", views.round_export, name="export"
    ),
    path("cells/<int:pk>/retry/", views.cell_retry, name="retry"),
]
