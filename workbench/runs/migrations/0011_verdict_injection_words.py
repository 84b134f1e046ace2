from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("questions", "0010_model_confidence_checked")]
    operations = [
        migrations.AddField(
            "verdict",
            "injection_words",
            models.JSONField(blank=True, default=list, db_default=models.Value([], models.JSONField())),
        ),
    ]
