from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("review", "0014_bulk_checks")]

    operations = [ValidateConstraint("reviewpolicy", "check_share_is_a_share")]
