"""The token vectors of passages. They are dense numbers: compressing them would cost time and save nothing."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("documents", "0011_model_choice")]

    operations = [
        migrations.CreateModel(
            name="PassageTokens",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("packed", models.BinaryField()),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="documents.document"
                    ),
                ),
                (
                    "passage",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tokens",
                        to="documents.passage",
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="documents.embeddingspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("passage", "space"), name="one_set_of_tokens_per_space")
                ],
            },
        ),
        migrations.RunSQL(
            "ALTER TABLE documents_passagetokens ALTER COLUMN packed SET STORAGE EXTERNAL",
            migrations.RunSQL.noop,
        ),
    ]
