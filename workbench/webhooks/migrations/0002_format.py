"""How a webhook's messages are written."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="webhook",
            name="format",
            field=models.CharField(
                choices=[("json", "JSON, for programs"), ("slack", "Slack"), ("teams", "Microsoft Teams")],
                db_default="json",
                default="json",
                max_length=8,
                verbose_name="format",
            ),
        ),
        AddConstraintNotValid(
            model_name="webhook",
            constraint=models.CheckConstraint(
                condition=models.Q(("format__in", ["json", "slack", "teams"])), name="webhook_format_is_known"
            ),
        ),
    ]
