from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("questions", "0006_rubric_and_terms")]

    operations = [
        migrations.AddIndex(
            "llmcall", models.Index(fields=["created_at"], include=["cost"], name="llmcall_by_time")
        ),
    ]
