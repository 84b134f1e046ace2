from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("review", "0016_blind_chance")]

    operations = [
        ValidateConstraint("queueitem", "blind_chance_is_one"),
        ValidateConstraint("review", "drawn_review_is_blind"),
    ]
