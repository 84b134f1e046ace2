"""The orders of the queue over all collections, for people who review several. Built CONCURRENTLY."""

from __future__ import annotations

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

COVERED = ["collection", "run", "is_required", "stage", "first_reviewer", "second_reviewer"]


class Migration(migrations.Migration):
    atomic = False  # as CONCURRENTLY asks
    dependencies = [("review", "0017_blind_chance_is_checked")]

    operations = [
        AddIndexConcurrently(
            "queueitem",
            models.Index(fields=order, include=COVERED, condition=models.Q(state="waiting"), name=name),
        )
        for order, name in (
            (["-urgency", "id"], "waiting_items_of_all"),
            (["entered", "id"], "waiting_items_of_all_by_age"),
        )
    ]
