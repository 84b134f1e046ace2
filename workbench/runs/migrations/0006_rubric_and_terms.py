from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("questions", "0005_question_edits"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="rubric_edits",
            field=models.JSONField(blank=True, help_text="A person's criteria for this run.", null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="artefacts",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="verdict",
            name="terms",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
