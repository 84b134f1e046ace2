from django.db import migrations

from workbench.documents.protection import CLOSE_HOLD, OPEN_HOLD


class Migration(migrations.Migration):

    dependencies = [
        ("audit", "0001_initial"),
        ("documents", "0005_erasure"),
        ("questions", "0007_llmcall_by_time"),
        ("review", "0007_answers_can_be_erased"),
    ]

    operations = [migrations.RunSQL(CLOSE_HOLD, OPEN_HOLD)]
