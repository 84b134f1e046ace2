"""A tenth of the verdicts is decided blind where nobody set another share."""

from django.db import migrations, models

import workbench.review.models


class Migration(migrations.Migration):
    dependencies = [("review", "0011_blind_items_are_alike")]

    operations = [
        migrations.AlterField(
            model_name="reviewpolicy",
            name="blind_share",
            field=models.FloatField(default=workbench.review.models.default_blind_share, verbose_name="share decided blind"),
        ),
    ]
