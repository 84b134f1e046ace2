"""When the chain was last verified."""

from django.db import migrations, models

import workbench.audit.models


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="AuditVerification",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=workbench.audit.models.ClockTimestamp(), editable=False),
                ),
                ("ok", models.BooleanField()),
                ("events", models.BigIntegerField()),
                ("position", models.BigIntegerField()),
            ],
            options={"db_table": "audit_verification"},
        ),
    ]
