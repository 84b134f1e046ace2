from pathlib import Path

from django.conf import settings
from django.db import migrations, models

HERE = Path(__file__).parent

STATUSES = [
    ("queued", "queued"),
    ("parsing", "parsing"),
    ("storing", "storing"),
    ("embedding", "embedding"),
    ("ready", "ready"),
    ("failed", "failed"),
    ("cancelled", "cancelled"),
    ("deleted", "deleted, to be erased"),
    ("erased", "erased"),
]


class Migration(migrations.Migration):

    dependencies = [
        ("documents", "0004_criteria_weights"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="document", name="same_bytes_are_one_document"),
        migrations.RemoveConstraint(model_name="document", name="document_status_is_known"),
        migrations.AddField("collection", "retention_days", models.PositiveIntegerField(blank=True, null=True)),
        migrations.AddField(
            "collection", "erasure_delay_days", models.PositiveSmallIntegerField(default=7)
        ),
        migrations.AddField(
            "document",
            "deleted_by",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField("document", "deleted_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("document", "deletion_reason", models.TextField(blank=True)),
        migrations.AddField("document", "status_before", models.CharField(blank=True, max_length=12)),
        migrations.AddField("document", "erase_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("document", "erased_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("document", "settled_at", models.DateTimeField(blank=True, null=True)),
        migrations.AlterField(
            "document", "status", models.CharField(choices=STATUSES, default="queued", max_length=12)
        ),
        migrations.AddIndex(
            "document",
            models.Index(
                condition=models.Q(status__in=("deleted", "erased"), settled_at__isnull=True),
                fields=["erase_at"],
                name="documents_to_erase",
            ),
        ),
        migrations.AddConstraint(
            "document",
            models.UniqueConstraint(
                condition=models.Q(("erased_at__isnull", True)),
                fields=("collection", "sha256"),
                name="same_bytes_are_one_document",
            ),
        ),
        migrations.AddConstraint(
            "document",
            models.CheckConstraint(
                condition=models.Q(erased_at__isnull=False, status="erased")
                | (~models.Q(status="erased") & models.Q(erased_at__isnull=True)),
                name="an_erased_document_says_when",
            ),
        ),
        migrations.AddConstraint(
            "document",
            models.CheckConstraint(
                condition=models.Q(
                    status__in=("deleted", "erased"),
                    deleted_by__isnull=False,
                    deleted_at__isnull=False,
                    erase_at__isnull=False,
                )
                & ~models.Q(deletion_reason="")
                | ~models.Q(status__in=("deleted", "erased"))
                & models.Q(deleted_by__isnull=True, deleted_at__isnull=True, erase_at__isnull=True),
                name="a_deleted_document_says_who_when_and_why",
            ),
        ),
        migrations.AddConstraint(
            "document",
            models.CheckConstraint(
                condition=models.Q(("status__in", [value for value, _ in STATUSES])),
                name="document_status_is_known",
            ),
        ),
        migrations.RunSQL(
            (HERE / "0005_hold.sql").read_text(), (HERE / "0005_hold_reversed.sql").read_text()
        ),
    ]
