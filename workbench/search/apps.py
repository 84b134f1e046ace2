from django.apps import AppConfig


class SearchConfig(AppConfig):
    """Full-text search by people and programs: reads documents and their lexical indexes, has no tables."""

    name = "workbench.search"
    label = "search"
