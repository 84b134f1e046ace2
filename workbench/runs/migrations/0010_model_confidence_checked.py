from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("questions", "0009_model_confidence")]

    operations = [ValidateConstraint(model_name="verdict", name="model_confidence_in_unit_interval")]
