"""An export from which something was taken is refused, or said to be not proven complete; never passed as the whole."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command

from tests.workbench.audit.conftest import Record
from tests.workbench.audit.test_export import rewrite
from tests.workbench.audit.thinned import NOT_PROVEN, REFUSED, thin
from tests.workbench.cast import Cast
from workbench.audit import verifier
from workbench.audit.models import AuditEvent, AuditSeal
from workbench.audit.services import audit_seal_all
from workbench.audit.verifier import FIRST_FORMAT


def check(file: Path, *arguments: str) -> SimpleNamespace:
    """Runs the verifier here: that it needs nothing of the product is shown elsewhere."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = verifier.main([str(file), *arguments])
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())


@pytest.fixture
def export(cast: Cast, record: Record, tmp_path: Path) -> Path:
    """The trail of alpha (positions 2 and 4) out of a chain of six."""
    for number in range(1, 7):
        collection = cast.alpha if number in {2, 4} else cast.beta
        record("comment.added", collection_id=collection.pk, object_type="thing", object_id=number)
    audit_seal_all()
    file = tmp_path / "alpha.jsonl"
    call_command("export_audit", "--collection", "alpha", "--out", str(file))
    return file


@pytest.fixture
def late(export: Path, record: Record, tmp_path: Path) -> Path:
    """Anchors made some time after the export: the chain has gone on, and the export's own link is among them."""
    record("comment.added")
    audit_seal_all()
    anchors = tmp_path / "late.jsonl"
    call_command("anchor_audit", "--to", str(anchors))
    return anchors


@pytest.fixture
def before_export(export: Path, tmp_path: Path) -> Path:
    """An anchor made before the export: the head of that time."""
    seal = AuditSeal.objects.get(position=6)
    anchors = tmp_path / "before.jsonl"
    anchors.write_text(json.dumps({"position": 6, "hash": seal.hash, "time": ""}) + "\n")
    return anchors


def test_anchors_hold_the_exports_since_the_last(export: Path, late: Path, record: Record) -> None:
    def positions() -> list[int]:
        return [json.loads(line)["position"] for line in late.read_text("utf-8").splitlines()]

    assert positions() == [7, 8]
    call_command("export_audit", "--out", str(export))
    record("comment.added")
    audit_seal_all()
    call_command("anchor_audit", "--to", str(late))
    assert positions() == [7, 8, 9, 10]


def test_a_later_anchor_proves_that_nothing_is_missing(export: Path, late: Path) -> None:
    result = check(export, "--anchor", str(late), "--complete")
    report = json.loads(result.stdout)
    assert (result.returncode, report["complete"], report["cannot_know"]) == (0, "proven", [])
    assert any("No event of the scope was left out" in sentence for sentence in report["knows"])


def test_an_earlier_anchor_proves_the_events_and_not_that_they_are_all(
    export: Path, before_export: Path
) -> None:
    result = check(export, "--anchor", str(before_export))
    report = json.loads(result.stdout)
    assert (result.returncode, report["anchors"], report["complete"]) == (0, 1, "unknown")
    assert report["cannot_know"][0] == "Whether what follows position 6 is the chain of the installation."
    assert check(export, "--anchor", str(before_export), "--complete").returncode == 1


@pytest.mark.parametrize("way", REFUSED)
def test_what_contradicts_itself_is_refused(way: str, export: Path, before_export: Path, late: Path) -> None:
    thin(export, REFUSED[way])
    for arguments in ((), ("--anchor", str(before_export)), ("--anchor", str(late))):
        result = check(export, *arguments)
        assert result.returncode == 1, result.stdout
        assert result.stderr.startswith("broken: ")


@pytest.mark.parametrize("way", NOT_PROVEN)
def test_what_cannot_be_known_is_said(way: str, export: Path, before_export: Path) -> None:
    thin(export, NOT_PROVEN[way])
    for arguments in ((), ("--anchor", str(before_export))):
        result = check(export, *arguments)
        assert (result.returncode, json.loads(result.stdout)["complete"]) == (0, "unknown")
        assert "not certain: Whether events were left out" in result.stderr
        assert check(export, *arguments, "--complete").returncode == 1


def test_the_exports_own_event_cannot_be_made_up_under_an_anchor(export: Path, late: Path) -> None:
    thin(export, NOT_PROVEN["record_it_otherwise"])
    result = check(export, "--anchor", str(late))
    assert (result.returncode, "differs from the anchored head" in result.stderr) == (1, True)


@pytest.mark.parametrize("way", {**REFUSED, **NOT_PROVEN})
def test_a_key_refuses_every_way(way: str, export: Path, tmp_path: Path, settings: Any) -> None:
    settings.AUDIT_EXPORT_KEY = "a key that maker and reader share"
    key = tmp_path / "key"
    key.write_text(settings.AUDIT_EXPORT_KEY, "utf-8")
    signed = tmp_path / "signed.jsonl"
    call_command("export_audit", "--collection", "alpha", "--out", str(signed))
    signature = signed.read_text("utf-8").splitlines(keepends=True)[-1]
    assert check(signed, "--key", str(key), "--complete").returncode == 0

    thin(signed, {**REFUSED, **NOT_PROVEN}[way])
    assert check(signed, "--key", str(key)).returncode == 1, "the signature cut off"
    signed.write_text(signed.read_text("utf-8") + signature, "utf-8")
    assert check(signed, "--key", str(key)).returncode == 1, "the signature of the whole one"


@pytest.fixture
def first_format(export: Path) -> Path:
    """An export as it was made before the last link said what is shown: it ends with the head of the chain."""
    header, *links = [json.loads(line) for line in export.read_text("utf-8").splitlines()]
    links = [row for row in links if row["position"] <= 6]
    kept = {name: header[name] for name in ("scope", "events", "start_position", "start_hash")}
    rows = [kept | {"format": FIRST_FORMAT, "links": len(links), "head": links[-1]["hash"]}, *links]
    export.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return export


def test_an_export_of_the_first_format_is_still_checked(first_format: Path, before_export: Path) -> None:
    result = check(first_format, "--anchor", str(before_export))
    report = json.loads(result.stdout)
    assert (result.returncode, report["events"], report["links"], report["anchors"]) == (0, 2, 5, 1)
    assert (report["complete"], report["format"]) == ("unknown", FIRST_FORMAT)
    (sentence,) = report["cannot_know"]
    assert "or the scope was another: this file is of the first format" in sentence
    rewrite(first_format, 2, event_hash="0" * 64)
    assert check(first_format).returncode == 1


def test_the_export_is_recorded_with_what_it_shows(export: Path, cast: Cast) -> None:
    event = AuditEvent.objects.get(action="audit.exported")
    header = json.loads(export.read_text("utf-8").splitlines()[0])
    for name in ("format", "collection_id", "events", "start_position", "end_position", "shown_sha256"):
        assert event.after[name] == header[name]
    assert (header["collection_id"], event.after["collection"]) == (cast.alpha.pk, "alpha")
    assert AuditSeal.objects.get(event=event).hash == header["head"]
