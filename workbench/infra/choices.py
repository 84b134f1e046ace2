"""The options of a select: words of their own, so they begin with a capital; within a sentence a label does not."""

from __future__ import annotations

from django.db.models import TextChoices
from django.utils.text import capfirst


def options_of(choices: type[TextChoices]) -> list[tuple[str, str]]:
    """Each value with its label."""
    return [(value, capfirst(str(label))) for value, label in choices.choices]
