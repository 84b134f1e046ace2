"""Writing an event: in the transaction of the change, by whom, and never document text."""

from __future__ import annotations

import datetime as dt
import hashlib
import json

import pytest
import structlog
from django.db import DatabaseError, IntegrityError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workbench.audit.conftest import Record
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent, AuditPending
from workbench.audit.redaction import MAX_JSON, MAX_STRING, redacted, redacted_reason
from workbench.audit.services import audit_record
from workbench.documents.models import Collection


@pytest.mark.django_db(transaction=True)
def test_an_event_outside_a_transaction_is_refused(actor: User) -> None:
    with pytest.raises(RuntimeError, match="inside the transaction"):
        audit_record(actor=actor, action="comment.added")


@pytest.mark.django_db(transaction=True)
def test_an_event_goes_away_with_its_change(actor: User) -> None:
    @transaction.atomic
    def change() -> None:
        audit_record(actor=actor, action="comment.added")
        raise ValueError("the change fails")

    with pytest.raises(ValueError, match="change fails"):
        change()
    assert not AuditEvent.objects.exists()
    assert not AuditPending.objects.exists()


def test_an_event_keeps_actor_object_and_change(actor: User, record: Record) -> None:
    alpha = Collection.objects.create(slug="alpha", name="Alpha")
    event = record(
        "collection.changed", obj=alpha, before={"name": "A"}, after={"name": "Alpha"}, reason=" typo "
    )
    event.refresh_from_db()
    assert (event.actor, event.actor_name, event.actor_kind) == (actor, "Ada", "person")
    assert (event.object_type, event.object_id, event.collection_id) == (
        "collection",
        str(alpha.pk),
        alpha.pk,
    )
    assert (event.before, event.after, event.reason) == ({"name": "A"}, {"name": "Alpha"}, "typo")


def test_the_name_stays_as_it_was(actor: User, record: Record) -> None:
    event = record()
    User.objects.filter(pk=actor.pk).update(name="Somebody else")
    event.refresh_from_db()
    assert event.actor_name == "Ada"


@pytest.mark.django_db
def test_the_kind_of_actor_follows_from_the_actor(record: Record) -> None:
    assert record(actor=User.objects.system()).actor_kind == "system"
    assert record(actor=None).actor_name == "system"
    stranger = record(actor=None, actor_kind="person")
    assert (stranger.actor_kind, stranger.actor_name) == ("person", "anonymous")
    assert record(actor_kind="worker").actor_kind == "worker"


def test_the_request_id_comes_from_the_log_context(record: Record) -> None:
    with structlog.contextvars.bound_contextvars(request_id="req-1"):
        assert record().request_id == "req-1"
    with structlog.contextvars.bound_contextvars(task_id="task-1"):
        assert record().request_id == "task-1"
    assert record().request_id == ""


def test_no_writer_chooses_the_time(actor: User) -> None:
    long_ago = dt.datetime(2001, 1, 1, tzinfo=dt.UTC)
    event = AuditEvent.objects.create(
        actor=actor, actor_name="Ada", actor_kind="person", action="comment.added", created_at=long_ago
    )
    event.refresh_from_db()
    assert event.created_at.year > 2001


def test_no_writer_takes_an_id_that_is_still_to_come(record: Record) -> None:
    last = record().pk
    with pytest.raises(DatabaseError, match="comes from its sequence"), transaction.atomic():
        AuditEvent.objects.create(pk=last + 1000, actor_name="x", actor_kind="system", action="comment.added")


def test_a_person_with_events_cannot_be_deleted(actor: User, record: Record) -> None:
    record()
    delete = f"DELETE FROM accounts_user WHERE id = {actor.pk}; SET CONSTRAINTS ALL IMMEDIATE"
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(delete)


def test_document_text_is_never_stored(record: Record) -> None:
    text = "The insurer shall pay within thirty days. " * 20
    event = record(before={"page": {"lines": [text]}}, after={"text": text, "note": "short"}, reason=text)
    event.refresh_from_db()
    with connection.cursor() as cursor:
        cursor.execute("SELECT e::text FROM audit_event e WHERE id = %s", [event.pk])
        (row,) = cursor.fetchone()
    assert "insurer" not in row
    digest = {"sha256": hashlib.sha256(text.encode()).hexdigest(), "length": len(text)}
    assert event.after == {"text": digest, "note": "short"}
    assert event.before == {"page": {"lines": [digest]}}
    assert hashlib.sha256(text.strip().encode()).hexdigest() in event.reason


def test_many_short_strings_are_text_too() -> None:
    lines = [f"line {number} of the document" for number in range(2000)]
    assert redacted({"lines": lines}).keys() == {"sha256", "length"}


@pytest.mark.parametrize("length", [MAX_STRING, MAX_STRING + 1])
def test_a_string_is_kept_up_to_the_limit(length: int) -> None:
    assert (redacted({"a": "x" * length}) == {"a": "x" * length}) is (length <= MAX_STRING)
    assert (redacted_reason("x" * length) == "x" * length) is (length <= MAX_STRING)


def test_values_that_are_not_json_are_refused() -> None:
    with pytest.raises(TypeError, match="give the id or hash"):
        redacted({"obj": object()})
    with pytest.raises(TypeError, match="bytes"):
        redacted({"file": b"%PDF"})


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(
        st.text(),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats()
            | st.text(st.characters(codec=None))
            | st.datetimes()
            | st.decimals()
            | st.uuids()
            | st.sets(st.text(max_size=3)),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=20,
        ),
    )
)
def test_whatever_is_recorded_is_json_that_the_database_takes(value: dict[str, object]) -> None:
    encoded = json.dumps(redacted(value), allow_nan=False)
    assert "\\u0000" not in encoded.replace("\\\\", "")
    assert len(encoded) <= MAX_JSON
