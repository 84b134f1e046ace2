"""A run may follow another of its own collection.

The foreign key is of both columns, so that the database itself keeps a chain inside one collection. Its index is made
CONCURRENTLY, and the key is added without a look at the rows, of which none follows anything yet.
"""

from __future__ import annotations

import django.db.models.deletion
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # as CONCURRENTLY asks
    dependencies = [("questions", "0015_candidate_words")]

    operations = [
        migrations.AddField(
            "run",
            "follows",
            models.ForeignKey(
                to="questions.run",
                on_delete=django.db.models.deletion.SET_NULL,
                null=True,
                blank=True,
                related_name="followed_by",
                db_index=False,
                db_constraint=False,
                help_text="The run whose question this one follows up, of the same collection.",
            ),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddConstraint(
                    "run",
                    models.UniqueConstraint(fields=["id", "collection"], name="run_in_its_collection"),
                )
            ],
            database_operations=[
                migrations.RunSQL(
                    "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS run_in_its_collection"
                    " ON questions_run (id, collection_id)",
                    migrations.RunSQL.noop,  # goes with the constraint below
                ),
                migrations.RunSQL(
                    "ALTER TABLE questions_run ADD CONSTRAINT run_in_its_collection UNIQUE USING INDEX run_in_its_collection",
                    "ALTER TABLE questions_run DROP CONSTRAINT run_in_its_collection",
                ),
            ],
        ),
        migrations.RunSQL(
            "ALTER TABLE questions_run ADD CONSTRAINT run_follows_in_its_collection FOREIGN KEY (follows_id, collection_id)"
            " REFERENCES questions_run (id, collection_id) NOT VALID",
            "ALTER TABLE questions_run DROP CONSTRAINT run_follows_in_its_collection",
        ),
        migrations.RunSQL(
            "ALTER TABLE questions_run VALIDATE CONSTRAINT run_follows_in_its_collection", migrations.RunSQL.noop
        ),
        AddIndexConcurrently(
            "run",
            models.Index(fields=["follows"], condition=models.Q(follows__isnull=False), name="run_follows"),
        ),
    ]
