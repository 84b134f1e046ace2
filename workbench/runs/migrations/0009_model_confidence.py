from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("questions", "0008_question_filters")]

    operations = [
        migrations.AddField(
            model_name="verdict",
            name="model_confidence",
            field=models.FloatField(null=True, help_text="As the language model says; not calibrated."),
        ),
        AddConstraintNotValid(
            model_name="verdict",
            constraint=models.CheckConstraint(
                condition=Q(model_confidence__isnull=True)
                | Q(model_confidence__gte=0, model_confidence__lte=1),
                name="model_confidence_in_unit_interval",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="strategy_options",
            field=models.JSONField(
                null=True, blank=True, help_text="The strategy's own settings for this run."
            ),
        ),
    ]
