"""A collection may keep its labels out of the installation's model."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("documents", "0006_hold_is_closed")]

    operations = [
        migrations.AddField(
            model_name="collection",
            name="contributes_to_training",
            field=models.BooleanField(db_default=True, default=True),
        ),
    ]
