"""Whoever has signed in before knows the place."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_tour")]

    operations = [
        migrations.RunSQL(
            "UPDATE accounts_user SET tour_ended_at = now() WHERE last_login IS NOT NULL;"
            " SET CONSTRAINTS ALL IMMEDIATE",
            migrations.RunSQL.noop,
        ),
    ]
