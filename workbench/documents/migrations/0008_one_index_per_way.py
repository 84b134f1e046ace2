"""Foreign keys whose rows a unique index begins with have no index of their own.

With two ways to the lines of a document the planner took the one that reads all of them: a question of a million
passages spent a quarter of its time on the lines that it did not want. And each index costs at every ingest.

As SQL, because Django would drop and check the foreign keys anew, for as long as it takes to read the whole table.
"""

import django.db.models.deletion
from django.db import migrations, models

#: Table, column, name of the index as Django made it.
_INDEXES = (
    ("documents_page", "document_id", "documents_page_document_id_cf356d1a"),
    ("documents_section", "document_id", "documents_section_document_id_4c912d12"),
    ("documents_line", "document_id", "documents_line_document_id_ecb10c2f"),
    ("documents_passage", "document_id", "documents_passage_document_id_c4614cba"),
    ("documents_passagevector", "passage_id", "documents_passagevector_passage_id_883c4207"),
    ("documents_passagevector", "space_id", "documents_passagevector_space_id_d1eb9b18"),
)
_COLUMNS = (
    ("page", "document", "documents.document", "pages"),
    ("section", "document", "documents.document", "sections"),
    ("line", "document", "documents.document", "lines"),
    ("passage", "document", "documents.document", "passages"),
    ("passagevector", "passage", "documents.passage", "vectors"),
    ("passagevector", "space", "documents.embeddingspace", "vectors"),
)


class Migration(migrations.Migration):
    atomic = False  # as CONCURRENTLY asks
    dependencies = [("documents", "0007_contributes_to_training")]

    operations = [
        *(
            migrations.RunSQL(
                f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
                f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {table} ({column})",
            )
            for table, column, name in _INDEXES
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name=model,
                    name=name,
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name=related,
                        to=to,
                    ),
                )
                for model, name, to, related in _COLUMNS
            ],
        ),
    ]
