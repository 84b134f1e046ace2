"""Documents whose retention has ended are found in an index, however many are kept. Built CONCURRENTLY."""

from __future__ import annotations

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # as CONCURRENTLY asks
    dependencies = [("documents", "0019_documents_at_work")]

    operations = [
        AddIndexConcurrently(
            "document",
            models.Index(
                fields=["collection", "created_at"],
                condition=models.Q(status__in=("ready", "failed", "cancelled")),
                name="documents_by_age",
            ),
        ),
    ]
