from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("questions", "0007_llmcall_by_time")]
    operations = [
        migrations.AddField("question", "filters", models.JSONField(blank=True, null=True)),
    ]
