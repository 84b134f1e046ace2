from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("review", "0009_text_changes")]

    operations = [ValidateConstraint("notification", "notification_kind_is_known")]
