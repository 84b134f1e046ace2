"""What new versions change of the text that signed runs rest on, and a notification of it."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

KINDS = ["mention", "handed_over", "dispute", "adjudicated", "reopened", "text_changed"]


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0008_one_index_per_way"),
        ("questions", "0013_run_text_changed_at"),
        ("review", "0008_waiting_items_covered"),
    ]

    operations = [
        migrations.CreateModel(
            name="TextChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("carried", "carried over"), ("changed", "changed"), ("gone", "gone")],
                        max_length=12,
                    ),
                ),
                ("matched_hash", models.CharField(blank=True, max_length=64)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "candidate",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="text_changes",
                        to="questions.candidate",
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="text_changes",
                        to="documents.document",
                    ),
                ),
                (
                    "signature",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="text_changes",
                        to="review.signature",
                    ),
                ),
            ],
            options={"ordering": ["id"]},
        ),
        migrations.AddConstraint(
            model_name="textchange",
            constraint=models.UniqueConstraint(
                fields=("signature", "candidate", "document"),
                name="text_change_told_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="textchange",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["changed", "gone"])), name="text_change_is_one"
            ),
        ),
        migrations.RemoveConstraint(model_name="notification", name="notification_kind_is_known"),
        migrations.AlterField(
            model_name="notification",
            name="kind",
            field=models.CharField(
                choices=[
                    ("mention", "mentions you in a comment"),
                    ("handed_over", "handed a card over to you"),
                    ("dispute", "gave another role than you in a second review"),
                    ("adjudicated", "decided between you and another reviewer"),
                    ("reopened", "reopened a run that you signed"),
                    ("text_changed", "accepted a new version that changes the text of a run that you signed"),
                ],
                max_length=16,
            ),
        ),
        AddConstraintNotValid(
            model_name="notification",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", KINDS)), name="notification_kind_is_known"
            ),
        ),
    ]
