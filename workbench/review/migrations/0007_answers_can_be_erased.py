from django.db import migrations

from workbench.review.protection import KEEP_ANSWERS, LET_ANSWERS_BE_ERASED


class Migration(migrations.Migration):

    dependencies = [
        ("documents", "0005_erasure"),
        ("questions", "0007_llmcall_by_time"),
        ("review", "0006_comments"),
    ]

    operations = [migrations.RunSQL(LET_ANSWERS_BE_ERASED, KEEP_ANSWERS)]
