"""How champion and challenger were compared, and where the rows of a training set lie."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("models_registry", "0003_pool_candidate")]

    operations = [
        migrations.AddField(
            model_name="snapshot",
            name="rows_hash",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AlterField(
            model_name="snapshot",
            name="kind",
            field=models.CharField(choices=[("training", "training set"), ("gold", "gold set")], max_length=12),
        ),
        migrations.AddField(
            model_name="gatedecision",
            name="way",
            field=models.CharField(
                choices=[("holdout", "gold holdout"), ("cross_validation", "cross-validation by question")],
                db_default="holdout",
                default="holdout",
                max_length=16,
            ),
        ),
        AddConstraintNotValid(
            model_name="gatedecision",
            constraint=models.CheckConstraint(
                condition=models.Q(("way__in", ["holdout", "cross_validation"])), name="gate_way_is_known"
            ),
        ),
    ]
