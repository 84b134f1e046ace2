import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    """Some cards of a bulk approval are decided one by one before the rest goes through."""

    dependencies = [
        ("review", "0013_waiting_items_by_age"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="reviewpolicy",
            name="check_share",
            field=models.FloatField(
                db_default=0.1,
                default=0.1,
                help_text="At least one card of each bulk approval, whatever the share.",
                verbose_name="share of a bulk approval checked one by one first",
            ),
        ),
        AddConstraintNotValid(
            model_name="reviewpolicy",
            constraint=models.CheckConstraint(
                condition=models.Q(check_share__gte=0, check_share__lte=1), name="check_share_is_a_share"
            ),
        ),
        migrations.CreateModel(
            name="BulkApproval",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("query", models.CharField(blank=True, max_length=500)),
                ("reason", models.TextField()),
                ("items", models.JSONField()),
                ("checks", models.JSONField()),
                (
                    "state",
                    models.CharField(
                        choices=[("checking", "being checked"), ("done", "approved"), ("stopped", "stopped")],
                        default="checking",
                        max_length=8,
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "actor",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="bulk_approvals",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["checking", "done", "stopped"])), name="bulk_state_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True), name="bulk_approval_says_why"
                    ),
                ],
            },
        ),
    ]
