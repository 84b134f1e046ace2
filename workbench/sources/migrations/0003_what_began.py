"""Looks and fetches are noted before they begin, so that one that ends its worker is not begun for ever."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sources", "0002_alter_sourcefile_state")]

    operations = [
        migrations.AddField(
            model_name="source",
            name="is_unfinished",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="sourcefile",
            name="begun",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
    ]
