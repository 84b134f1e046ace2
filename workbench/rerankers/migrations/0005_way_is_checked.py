from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("models_registry", "0004_way_of_comparison")]

    operations = [ValidateConstraint("gatedecision", "gate_way_is_known")]
