"""The embedding space of the encoder that ships with the product, with its HNSW index.

Made in a migration because only the schema's owner may create an index; ``manage.py reembed`` makes further
spaces in the same way. The index holds half-precision copies: half the memory, the same neighbours.
"""

from django.db import migrations

SPACE = "all-MiniLM-L6-v2-int8@8199be6f/384"
WIDTH = 384


def create_space(apps, schema_editor):
    EmbeddingSpace = apps.get_model("documents", "EmbeddingSpace")
    space = EmbeddingSpace.objects.create(name=SPACE, width=WIDTH, is_active=True)
    schema_editor.execute(
        f"CREATE INDEX documents_vector_hnsw_{space.pk} ON documents_passagevector "
        f"USING hnsw ((embedding::halfvec({WIDTH})) halfvec_cosine_ops) WITH (m = 16, ef_construction = 64) "
        f"WHERE space_id = {space.pk}"
    )


def drop_space(apps, schema_editor):
    EmbeddingSpace = apps.get_model("documents", "EmbeddingSpace")
    for space in EmbeddingSpace.objects.filter(name=SPACE):
        schema_editor.execute(f"DROP INDEX IF EXISTS documents_vector_hnsw_{space.pk}")
        space.delete()


class Migration(migrations.Migration):
    # The index is built on a table that the same transaction may have filled: not inside one.
    atomic = False
    dependencies = [("documents", "0001_initial")]
    operations = [migrations.RunPython(create_space, drop_space)]
