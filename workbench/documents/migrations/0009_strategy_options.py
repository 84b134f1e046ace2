from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("documents", "0008_one_index_per_way")]

    operations = [
        migrations.AddField(
            model_name="collection",
            name="strategy_options",
            field=models.JSONField(blank=True, null=True),
        ),
    ]
