"""The exports that are there have a known kind: checked without a lock that stops others."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("exports", "0003_links")]

    operations = [
        ValidateConstraint(model_name="export", name=name)
        for name in ("export_kind_is_known", "link_shows_a_run", "report_is_of_a_period")
    ]
