from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("documents", "0010_page_drawing")]
    operations = [
        migrations.AddField(
            "collection",
            name,
            models.CharField(blank=True, db_default="", default="", max_length=length),
        )
        for name, length in (("model_endpoint", 40), ("model_name", 120))
    ]
