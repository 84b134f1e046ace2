from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_user_language")]

    operations = [
        migrations.AddField("user", "tour_ended_at", models.DateTimeField(blank=True, null=True)),
        # Whoever has signed in before knows the place.
        migrations.RunSQL(
            "UPDATE accounts_user SET tour_ended_at = now() WHERE last_login IS NOT NULL",
            migrations.RunSQL.noop,
        ),
    ]
