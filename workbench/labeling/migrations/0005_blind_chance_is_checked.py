from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("labeling", "0004_blind_chance")]

    operations = [
        ValidateConstraint("label", "drawn_label_is_blind"),
    ]
