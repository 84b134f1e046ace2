"""Which candidate of its list a label means."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("models_registry", "0002_withheld")]

    operations = [
        migrations.AddField(
            model_name="featurerow",
            name="pool_candidate",
            field=models.CharField(blank=True, db_default="", default="", max_length=120),
        ),
    ]
