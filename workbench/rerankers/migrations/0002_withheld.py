"""How many labels their collections kept out."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("models_registry", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="snapshot",
            name="withheld",
            field=models.PositiveIntegerField(
                db_default=0, default=0, help_text="Labels that their collections keep out of the model."
            ),
        ),
    ]
