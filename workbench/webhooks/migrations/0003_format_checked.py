"""The webhooks that are there have a known format: checked without a lock that stops others."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0002_format")]

    operations = [ValidateConstraint(model_name="webhook", name="webhook_format_is_known")]
