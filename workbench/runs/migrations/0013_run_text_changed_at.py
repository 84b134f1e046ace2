from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("questions", "0012_model_prices")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="text_changed_at",
            field=models.DateTimeField(
                blank=True,
                help_text="When a new version first changed the text that the run was signed on; null while it stands.",
                null=True,
            ),
        ),
    ]
