from pathlib import Path

from django.db import migrations

HERE = Path(__file__).parent


class Migration(migrations.Migration):

    dependencies = [
        ("audit", "0001_initial"),
        ("documents", "0005_erasure"),
        ("questions", "0007_llmcall_by_time"),
        ("review", "0007_answers_can_be_erased"),
    ]

    operations = [
        migrations.RunSQL(
            (HERE / "0006_hold_closed.sql").read_text(), (HERE / "0006_hold_closed_reversed.sql").read_text()
        )
    ]
