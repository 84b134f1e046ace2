from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

_COUNTED = ["run", "stage", "first_reviewer", "second_reviewer"]


class Migration(migrations.Migration):
    """The queue is listed and counted from its indexes alone. Built beside the running product: nothing waits."""

    atomic = False
    dependencies = [("review", "0007_answers_can_be_erased")]

    operations = [
        AddIndexConcurrently(
            "queueitem",
            models.Index(
                fields=["collection", "-urgency", "id"],
                include=_COUNTED,
                condition=models.Q(state="waiting", is_required=True),
                name="required_items_covered",
            ),
        ),
        AddIndexConcurrently(
            "queueitem",
            models.Index(
                fields=["collection", "-urgency", "id"],
                include=_COUNTED,
                condition=models.Q(state="waiting"),
                name="waiting_items_covered",
            ),
        ),
        RemoveIndexConcurrently("queueitem", "waiting_items"),
    ]
