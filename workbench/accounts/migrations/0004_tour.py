from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_user_language")]

    operations = [
        migrations.AddField("user", "tour_ended_at", models.DateTimeField(blank=True, null=True)),
    ]
