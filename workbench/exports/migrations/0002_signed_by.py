"""Which key signed an export; those that were made before are not signed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("exports", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="export",
            name="signed_by",
            field=models.CharField(
                blank=True,
                db_default="",
                help_text="Key of the signature (keys.py); empty: not signed.",
                max_length=64,
            ),
        ),
    ]
