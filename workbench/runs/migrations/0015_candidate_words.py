"""The words that meet the question's stand beside the text that they are of, and go with it when it is erased."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("questions", "0014_no_strong_match")]
    operations = [
        migrations.AddField(
            "candidatetext",
            "matched_words",
            models.JSONField(blank=True, default=list, db_default=models.Value([], models.JSONField())),
        ),
    ]
