"""Rows written in bulk."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from workbench.accounts.models import User
from workbench.infra.copying import copy_into

pytestmark = pytest.mark.django_db


def test_a_refused_row_is_an_error_of_django() -> None:
    """As psycopg's own error it passed by those who tell a lost node of a cluster from a fault of the document."""
    person = User.objects.create(email="a@example.org", name="A")

    with (
        pytest.raises(IntegrityError),
        transaction.atomic(),
        copy_into("COPY accounts_user (id) FROM STDIN") as copy,
    ):
        copy.write_row((person.pk,))
