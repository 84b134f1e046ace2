from django.apps import AppConfig


class ReviewConfig(AppConfig):
    name = "workbench.review"
    label = "review"
