from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("questions", "0013_run_text_changed_at")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="no_strong_match",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
