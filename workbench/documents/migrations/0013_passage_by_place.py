"""Passages are found by the lines they hold, when the tokens of a candidate are wanted."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # as CONCURRENTLY asks
    dependencies = [("documents", "0012_passage_tokens")]

    operations = [
        AddIndexConcurrently(
            model_name="passage",
            index=models.Index(fields=["document", "page_start", "line_start"], name="passage_by_place"),
        ),
    ]
