"""Whose file is read next is found in indexes, however many files wait or are done. Built CONCURRENTLY."""

from __future__ import annotations

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # as CONCURRENTLY asks
    dependencies = [("documents", "0018_words_in_the_database")]

    operations = [
        AddIndexConcurrently(
            "document",
            models.Index(
                fields=["collection", "id"],
                condition=models.Q(status__in=("queued", "parsing", "storing", "embedding")),
                name="documents_at_work",
            ),
        ),
        AddIndexConcurrently(
            "document",
            models.Index(
                fields=["collection", "lease_until"],
                condition=models.Q(lease_until__isnull=False),
                name="documents_held",
            ),
        ),
        AddIndexConcurrently(
            "document",
            models.Index(
                fields=["collection", "-finished_at"],
                condition=models.Q(finished_at__isnull=False),
                name="documents_by_end",
            ),
        ),
    ]
