"""An export is checked by a script that needs nothing of the product."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.workbench.audit.conftest import Record
from tests.workbench.cast import Cast
from workbench.audit import verifier
from workbench.audit.models import AuditEvent
from workbench.audit.services import audit_seal_all

VERIFIER = Path(verifier.__file__)


@pytest.fixture
def export(cast: Cast, record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The trail of alpha (positions 2 and 4) out of a chain of six; the seventh event is not sealed."""
    for number in range(1, 7):
        collection = cast.alpha if number in {2, 4} else cast.beta
        record(
            "comment.added", collection_id=collection.pk, object_type="thing", object_id=number, reason="é ✓"
        )
    audit_seal_all()
    record("comment.added", collection_id=cast.alpha.pk)
    file = tmp_path / "alpha.jsonl"
    call_command("export_audit", "--collection", "alpha", "--out", str(file))
    capsys.readouterr()
    return file


def check(file: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the verifier as a stranger does: alone, isolated from every installed package."""
    command = [sys.executable, "-I", "-S", str(VERIFIER), str(file), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def rewrite(file: Path, line: int, **changes: object) -> None:
    rows = [json.loads(row) for row in file.read_text("utf-8").splitlines()]
    rows[line] |= changes
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def test_an_export_is_whole(export: Path) -> None:
    result = check(export)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["events"], report["links"], report["complete"]) == (2, 7, "unknown")
    assert [sentence[:36] for sentence in report["cannot_know"]] == [
        "Whether this is the chain of the ins",
        "Whether events were left out: only a",
    ]
    assert "not certain: Whether this is the chain" in result.stderr


def test_an_export_shows_nothing_of_other_collections(export: Path, cast: Cast) -> None:
    rows = [json.loads(row) for row in export.read_text("utf-8").splitlines()[1:]]
    assert [row["position"] for row in rows] == [2, 3, 4, 5, 6, 7, 8]
    assert [row["position"] for row in rows if "event" in row] == [2, 4, 8]
    shown = [row["event"] for row in rows if "event" in row]
    assert {event["collection_id"] for event in shown} == {cast.alpha.pk}
    assert all(row.keys() == {"position", "event_hash", "hash"} for row in rows if "event" not in row)


def test_an_export_is_on_record(export: Path, cast: Cast) -> None:
    event = AuditEvent.objects.get(action="audit.exported")
    assert (event.collection_id, event.actor_name, event.after["events"]) == (cast.alpha.pk, "system", 2)


def test_a_changed_export_is_found(export: Path) -> None:
    event = json.loads(export.read_text("utf-8").splitlines()[1])["event"]
    rewrite(export, 1, event=event | {"reason": "another"})
    result = check(export)
    assert result.returncode == 1
    assert "position 2 was changed" in result.stderr


@pytest.mark.parametrize("line", [1, 2, 7], ids=["event", "link between", "head"])
def test_a_line_taken_out_is_found(export: Path, line: int) -> None:
    rows = export.read_text("utf-8").splitlines(keepends=True)
    export.write_text("".join(rows[:line] + rows[line + 1 :]), "utf-8")
    assert check(export).returncode == 1


def test_a_changed_link_is_found(export: Path) -> None:
    rewrite(export, 2, event_hash="0" * 64)
    result = check(export)
    assert result.returncode == 1
    assert "position 3" in result.stderr


def test_an_export_is_held_against_an_anchor(export: Path, tmp_path: Path) -> None:
    anchors = tmp_path / "anchors.jsonl"
    call_command("anchor_audit", "--to", str(anchors))
    result = check(export, "--anchor", str(anchors))
    report = json.loads(result.stdout)
    assert (result.returncode, report["anchors"], report["complete"]) == (0, 1, "proven")
    assert report["cannot_know"] == []
    rewrite(anchors, 0, hash="0" * 64)
    assert "differs from the anchored head" in check(export, "--anchor", str(anchors)).stderr


def test_another_file_is_no_export(tmp_path: Path) -> None:
    for content in ("hello\n", "[]\n", "{}\n", ""):
        other = tmp_path / "other.txt"
        other.write_text(content)
        result = check(other)
        assert (result.returncode, result.stdout) == (2, "")
    assert check(tmp_path / "missing").returncode == 2


def test_a_period_and_the_whole_installation(
    export: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "all.jsonl"
    call_command("export_audit", "--out", str(file), "--json")
    assert (
        json.loads(capsys.readouterr().out)["events"] == 8
    )  # the first export and what waited beside it too
    assert check(file).returncode == 0
    call_command("export_audit", "--out", str(file), "--until", "2001-01-01", "--json")
    header = json.loads(capsys.readouterr().out)
    assert (header["events"], header["links"]) == (0, 1)
    assert check(file).returncode == 0


@pytest.mark.django_db
def test_an_unknown_collection_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no collection 'gamma'"):
        call_command("export_audit", "--collection", "gamma", "--out", str(tmp_path / "x"))
    assert not (tmp_path / "x").exists()


def test_a_signed_export_is_checked_with_nothing_but_python(
    sealed: list[AuditEvent], tmp_path: Path, settings: Any
) -> None:
    settings.AUDIT_EXPORT_KEY = "a key that maker and reader share"
    file, key = tmp_path / "signed.jsonl", tmp_path / "key"
    key.write_text(settings.AUDIT_EXPORT_KEY + "\n", "utf-8")
    call_command("export_audit", "--out", str(file))

    whole = check(file, "--key", str(key))
    assert whole.returncode == 0, whole.stderr
    assert (json.loads(whole.stdout)["signed"], json.loads(whole.stdout)["complete"]) == (True, "proven")
    unchecked = json.loads(check(file).stdout)
    assert (unchecked["signed"], unchecked["complete"]) == (False, "unknown")

    key.write_text("another key", "utf-8")
    assert check(file, "--key", str(key)).returncode == 1
    key.write_text(settings.AUDIT_EXPORT_KEY, "utf-8")

    lines = file.read_text("utf-8").splitlines(keepends=True)
    for changed in (
        lines[:-1],  # the signature cut off
        [*lines, lines[-1]],  # something behind it
        [lines[0].replace('"since": null', '"since":null'), *lines[1:]],  # the same header in other words
    ):
        file.write_text("".join(changed), "utf-8")
        assert check(file, "--key", str(key)).returncode == 1
