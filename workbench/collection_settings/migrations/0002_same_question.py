"""Until now nothing read the threshold for "another wording is the same question"; the figure stored by default was
another encoder's and would link most questions with each other."""

from __future__ import annotations

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

UNREAD_DEFAULT, MEASURED = 0.65, 0.90


def raise_unread_default(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """To the figure measured for the shipped encoder (docs/adr/0010); figures that an admin set stay."""
    for name in ("GateProposal", "CollectionGates"):
        rows = apps.get_model("collection_settings", name).objects.filter(query=UNREAD_DEFAULT)
        rows.update(query=MEASURED)


class Migration(migrations.Migration):
    dependencies = [("collection_settings", "0001_initial")]
    operations = [migrations.RunPython(raise_unread_default, migrations.RunPython.noop)]
