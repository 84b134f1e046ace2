"""``verify_audit`` names the first row that is not as it was sealed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from tests.workbench.audit.conftest import Record, as_superuser
from workbench.audit.models import AuditEvent, AuditSeal
from workbench.audit.services import audit_seal_all, audit_verify
from workbench.audit.verifier import event_hash, link_hash

Sealed = list[AuditEvent]
Capture = pytest.CaptureFixture[str]


def verify(capsys: Capture, *arguments: str) -> tuple[dict[str, object], str]:
    """The JSON of the command, and the message that it fails with ("" when it does not)."""
    message, status = "", 0
    try:
        call_command("verify_audit", "--json", *arguments)
    except CommandError as error:
        message, status = str(error), error.returncode
    report = json.loads(capsys.readouterr().out)
    assert status == (0 if report["ok"] else 1)
    return report, message


@pytest.mark.django_db
def test_an_empty_trail_is_whole(capsys: Capture) -> None:
    empty = {"events": 0, "unsealed": 0, "head": None, "ok": True, "first_broken": None}
    assert verify(capsys) == (empty, "")


def test_a_whole_trail(sealed: Sealed, record: Record, capsys: Capture) -> None:
    record()
    head = AuditSeal.objects.get(position=5).hash
    whole = {"events": 6, "unsealed": 1, "head": head, "ok": True, "first_broken": None}
    assert verify(capsys) == (whole, "")


def test_the_command_in_words(sealed: Sealed, capsys: Capture) -> None:
    call_command("verify_audit")
    assert "The chain is whole: 5 events, 0 not sealed yet" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("created_at", "created_at - interval '1 microsecond'"),
        ("actor_id", "NULL"),
        ("actor_name", "'Eve'"),
        ("actor_kind", "'system'"),
        ("action", "'thing.undone'"),
        ("object_type", "'other'"),
        ("object_id", "'99'"),
        ("collection_id", "7"),
        ("before", """'{"a": 1}'"""),
        ("after", """'{"a": 1}'"""),
        ("reason", "'because'"),
        ("request_id", "'r'"),
        ("salt", "gen_random_uuid()"),
    ],
)
def test_a_changed_column_is_found(sealed: Sealed, capsys: Capture, column: str, value: str) -> None:
    third = sealed[2].pk
    as_superuser(f"UPDATE audit_event SET {column} = {value} WHERE id = {third}")
    report, message = verify(capsys)
    assert (report["ok"], report["first_broken"]) == (False, third)
    assert f"event {third} at position 3 is not the one that was sealed" in message


def test_the_first_of_several_is_named(sealed: Sealed) -> None:
    as_superuser("UPDATE audit_event SET reason = 'x' WHERE id = ANY(%s)", [sealed[3].pk, sealed[1].pk])
    assert audit_verify().first_broken == sealed[1].pk


def delete_event(events: Sealed) -> None:
    as_superuser("DELETE FROM audit_event WHERE id = %s", events[2].pk)


def delete_seal(events: Sealed) -> None:
    as_superuser("DELETE FROM audit_seal WHERE event_id = %s", events[2].pk)


def delete_last_seal(events: Sealed) -> None:
    as_superuser("DELETE FROM audit_seal WHERE event_id = %s", events[4].pk)


def delete_event_and_seal(events: Sealed) -> None:
    delete_event(events)
    delete_seal(events)


def delete_and_close_the_gap(events: Sealed) -> None:
    delete_event_and_seal(events)
    as_superuser("UPDATE audit_seal SET position = position - 1 WHERE position > 3")


def swap_seals(events: Sealed) -> None:
    third, fourth = events[2].pk, events[3].pk
    as_superuser("UPDATE audit_seal SET position = 99 WHERE event_id = %s", third)
    as_superuser("UPDATE audit_seal SET position = 3 WHERE event_id = %s", fourth)
    as_superuser("UPDATE audit_seal SET position = 4 WHERE event_id = %s", third)


def swap_ids(events: Sealed) -> None:
    third, fourth = events[2].pk, events[3].pk
    as_superuser("UPDATE audit_event SET id = 99999 WHERE id = %s", third)
    as_superuser("UPDATE audit_event SET id = %s WHERE id = %s", third, fourth)
    as_superuser("UPDATE audit_event SET id = %s WHERE id = 99999", fourth)


def change_with_own_hash(events: Sealed) -> None:
    """Rewrites an event together with its own seal, which the next link gives away."""
    as_superuser("UPDATE audit_event SET reason = 'x' WHERE id = %s", events[2].pk)
    as_superuser("UPDATE audit_seal SET event_hash = %s, hash = %s WHERE position = 3", "a" * 64, "b" * 64)


def change_stored_digest(events: Sealed) -> None:
    as_superuser("UPDATE audit_seal SET event_hash = %s WHERE position = 3", "a" * 64)


def change_stored_link(events: Sealed) -> None:
    as_superuser("UPDATE audit_seal SET hash = %s WHERE position = 3", "a" * 64)


def change_stored_predecessor(events: Sealed) -> None:
    as_superuser("UPDATE audit_seal SET prev_hash = %s WHERE position = 3", "a" * 64)


@pytest.mark.parametrize(
    ("attack", "broken"),
    [
        (delete_event, 2),
        (delete_seal, 2),
        (delete_last_seal, 4),
        (delete_event_and_seal, 3),
        (delete_and_close_the_gap, 3),
        (swap_seals, 3),
        (swap_ids, 2),
        (change_with_own_hash, 2),
        (change_stored_digest, 2),
        (change_stored_link, 2),
        (change_stored_predecessor, 2),
    ],
)
def test_an_attack_is_found(
    sealed: Sealed, capsys: Capture, attack: Callable[[Sealed], None], broken: int
) -> None:
    attack(sealed)
    report, message = verify(capsys)
    assert (report["ok"], report["first_broken"]) == (False, sealed[broken].pk)
    assert str(sealed[broken].pk) in message


def test_an_event_put_in_behind_the_triggers_is_found(sealed: Sealed, capsys: Capture) -> None:
    as_superuser(
        "INSERT INTO audit_event (id, actor_name, actor_kind, action, object_type, object_id, reason, request_id) "
        "VALUES (100000, 'Eve', 'person', 'comment.added', '', '', '', '')"
    )
    report, message = verify(capsys)
    assert (report["ok"], report["first_broken"]) == (False, 100000)
    assert "has no seal and does not wait for one" in message


def rewrite_from(position: int, last: int) -> None:
    """What somebody does who knows the rule and owns the server: a new, consistent chain."""
    from workbench.audit.chain import SELECT_EVENT, canonical_event

    prev_hash = AuditSeal.objects.get(position=position - 1).hash
    for place in range(position, last + 1):
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {SELECT_EVENT} FROM audit_event e JOIN audit_seal s ON s.event_id = e.id "
                f"WHERE s.position = {place}"
            )
            digest = event_hash(canonical_event(cursor.fetchone()))
        link = link_hash(prev_hash=prev_hash, event_hash=digest)
        as_superuser(
            "UPDATE audit_seal SET event_hash = %s, prev_hash = %s, hash = %s WHERE position = %s",
            digest, prev_hash, link, place,
        )  # fmt: skip
        prev_hash = link


def test_a_rewritten_chain_is_found_with_an_anchor(sealed: Sealed, tmp_path: Path, capsys: Capture) -> None:
    anchors = tmp_path / "anchors.jsonl"
    call_command("anchor_audit", "--to", str(anchors))
    capsys.readouterr()
    as_superuser("UPDATE audit_event SET reason = 'x' WHERE id = %s", sealed[2].pk)
    rewrite_from(3, 5)
    assert verify(capsys)[0]["ok"] is True
    report, message = verify(capsys, "--anchor", str(anchors))
    assert (report["ok"], report["first_broken"]) == (False, sealed[4].pk)
    assert "position 5" in message


def test_a_chain_cut_off_is_found_with_an_anchor(sealed: Sealed, tmp_path: Path, capsys: Capture) -> None:
    anchors = tmp_path / "anchors.jsonl"
    call_command("anchor_audit", "--to", str(anchors))
    capsys.readouterr()
    as_superuser("DELETE FROM audit_seal WHERE position > 3")
    as_superuser("DELETE FROM audit_event WHERE id = ANY(%s)", [event.pk for event in sealed[3:]])
    assert verify(capsys)[0]["ok"] is True
    report, message = verify(capsys, "--anchor", str(anchors))
    assert report["ok"] is False
    assert "the chain ends at position 3, but position 5 was anchored" in message


def test_anchors_pile_up(sealed: Sealed, record: Record, tmp_path: Path, capsys: Capture) -> None:
    anchors = tmp_path / "anchors.jsonl"
    call_command("anchor_audit", "--to", str(anchors), "--json")
    first = json.loads(capsys.readouterr().out)
    record()
    audit_seal_all()
    call_command("anchor_audit", "--to", str(anchors))
    capsys.readouterr()
    lines = [json.loads(line) for line in anchors.read_text().splitlines()]
    assert lines[0] == first
    assert [line["position"] for line in lines] == [5, 6]
    assert verify(capsys, "--anchor", str(anchors))[0]["ok"] is True


@pytest.mark.django_db
def test_an_anchor_needs_a_sealed_event(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No event is sealed yet"):
        call_command("anchor_audit", "--to", str(tmp_path / "anchors.jsonl"))


def test_a_file_that_holds_no_anchors_is_wrong_use(sealed: Sealed, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("no anchors here\n")
    with pytest.raises(CommandError, match="not an anchor file") as caught:
        call_command("verify_audit", "--anchor", str(other))
    assert caught.value.returncode == 2


@pytest.mark.django_db(transaction=True)
def test_verification_only_reads(sealed: Sealed, record: Record) -> None:
    record()
    assert audit_verify().unsealed == 1
    assert audit_verify().unsealed == 1


def test_a_part_of_the_chain_can_be_verified(sealed: Sealed) -> None:
    as_superuser("UPDATE audit_event SET reason = 'x' WHERE id = %s", sealed[1].pk)
    newest = audit_verify(newest=3)
    assert (newest.ok, newest.checked, newest.events, newest.position) == (True, 3, 5, 5)
    assert audit_verify(newest=4).first_broken == sealed[1].pk
    assert audit_verify(newest=99).checked == 5
