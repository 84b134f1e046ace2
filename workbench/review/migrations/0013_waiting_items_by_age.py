from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """The queue by age, read from an index."""

    atomic = False

    dependencies = [("review", "0012_blind_share_default")]

    operations = [
        AddIndexConcurrently(
            model_name="queueitem",
            index=models.Index(
                condition=models.Q(("state", "waiting")),
                fields=["collection", "entered", "id"],
                include=("run", "is_required", "stage", "first_reviewer", "second_reviewer"),
                name="waiting_items_by_age",
            ),
        ),
    ]
