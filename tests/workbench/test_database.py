"""After a transactional test the next one finds what migrations made, and nothing else."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection

from tests.workbench.cast import create_cast
from tests.workbench.database import KEPT_TABLES
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent


def _left() -> dict[str, int]:
    with connection.cursor() as cursor:
        counts = {}
        for table in connection.introspection.django_table_names(only_existing=True):
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")
            counts[table] = cursor.fetchone()[0]
    return {table: count for table, count in counts.items() if count and table not in KEPT_TABLES}


@pytest.mark.django_db(transaction=True)
def test_rows_are_gone_and_the_permissions_of_every_model_stay() -> None:
    from django.core.management import call_command

    create_cast()
    assert _left()
    before = set(Permission.objects.values_list("codename", flat=True)), ContentType.objects.count()

    call_command("flush", verbosity=0, interactive=False)

    assert _left() == {}
    assert before == (
        set(Permission.objects.values_list("codename", flat=True)),
        ContentType.objects.count(),
    )
    assert not User.objects.exists()
    assert not AuditEvent.objects.exists()
