"""Collections as archives: what leaves arrives, all of it or nothing, and a hostile file changes nothing."""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
import stat
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client

from arbitration.contracts import Role
from arbitration.evaluation.question_groups import question_hash
from tests.workbench.cast import Cast
from tests.workbench.scene import TEXT, make_document
from workbench.accounts.permissions import Permission
from workbench.api.tokens import token_create
from workbench.archives import api as archives_api
from workbench.archives.contents import GUIDELINES, LABELS, MANIFEST, MOST_ROWS, GuidelineRow
from workbench.archives.reading import AT_ONCE, BadArchive
from workbench.archives.services import archive_inspect, collection_export, collection_import
from workbench.audit.models import AuditEvent
from workbench.checklists.services import question_set_create
from workbench.collection_settings.models import CollectionGates, GateProposal
from workbench.documents.erasure import document_delete
from workbench.documents.models import Collection, Document
from workbench.documents.restricting import restriction_set
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.labeling.models import GuidelineVersion, Label, SourceChoice
from workbench.labeling.services import judgment
from workbench.synonyms.services import entry_add

Entries = dict[str, bytes]


QUESTION = "How long are access records kept?"


@pytest.fixture
def policy(cast: Cast, here: None) -> Document:
    """A document of alpha whose hash is that of its bytes."""
    return _document(cast, "policy.txt")


def _document(cast: Cast, name: str, text: dict[str, list[str]] = TEXT) -> Document:
    document = make_document(collection=cast.alpha, owner=cast.analyst, name=name, text=text)
    content = document.file.open().read()
    Document.objects.filter(pk=document.pk).update(sha256=hashlib.sha256(content).hexdigest())
    document.refresh_from_db()
    return document


@pytest.fixture
def alpha(policy: Document, cast: Cast) -> Collection:
    """Alpha with something of every kind that an archive holds."""
    Collection.objects.filter(pk=cast.alpha.pk).update(
        description="Rules about records",
        allowed_endpoints=["https://models.example/v1"],
        retention_days=400,
        erasure_delay_days=3,
        contributes_to_training=False,
    )
    Document.objects.filter(pk=policy.pk).update(issuer="Records Office", tags=["policy"])
    entry_add(actor=cast.admin, collection=cast.alpha, term="client", variant="customer")
    question_set_create(actor=cast.analyst, collection=cast.alpha, name="Records", questions=[QUESTION])
    GuidelineVersion.objects.create(
        collection=cast.alpha, number=1, body="Read twice.", written_by=cast.admin
    )
    CollectionGates.objects.create(
        collection=cast.alpha, space="some-space", name="measured", minimum=0.3, verify=0.4, accept=0.8, gap=0.2,
        keyword=0.7, query=0.6, alias=0.8, confident=0.9, applied_by=cast.admin,
    )  # fmt: skip
    for person in (cast.annotator, cast.second_reviewer):
        _label(policy, role=Role.PRIMARY, source=SourceChoice.ANNOTATOR, person=person)
    _label(policy, role=Role.DISCARDED, source=SourceChoice.LLM, judge_name="some-model · 1")
    cast.alpha.refresh_from_db()
    return cast.alpha


def _label(document: Document, *, role: Role, source: str, line: int = 5, **judge: object) -> Label:
    return Label.objects.create(
        collection=document.collection,
        question=QUESTION,
        question_hash=question_hash(QUESTION),
        document=document,
        page_start=1,
        line_start=line,
        page_end=1,
        line_end=line,
        text_hash="a" * 64,
        **judgment(role=role, source=source),
        **judge,
    )


@pytest.fixture
def archive(alpha: Collection, cast: Cast) -> bytes:
    target = io.BytesIO()
    collection_export(actor=cast.admin, collection=alpha, target=target)
    return target.getvalue()


def take_in(cast: Cast, content: bytes, slug: str = "gamma") -> Collection:
    return collection_import(actor=cast.analyst, stream=io.BytesIO(content), slug=slug)[0]


# --- what leaves arrives ------------------------------------------------------------------------------------


def test_everything_but_people_and_addresses_arrives(
    archive: bytes, alpha: Collection, cast: Cast, policy: Document
) -> None:
    made = take_in(cast, archive)

    assert (made.slug, made.name, made.description) == ("gamma", "Alpha", "Rules about records")
    assert (made.retention_days, made.erasure_delay_days) == (400, 3)
    assert made.allowed_endpoints == []
    assert not made.contributes_to_training
    document = made.documents.get()
    assert (document.sha256, document.name) == (policy.sha256, "policy.txt")
    assert (document.issuer, document.tags) == ("Records Office", ["policy"])
    assert document.status == "queued"
    assert default_storage.open(document.file.name).read() == policy.file.open().read()
    assert list(made.dictionary_entries.values_list("term", "variant", "status")) == [
        ("client", "customer", "approved")
    ]
    assert [entry.text for entry in made.question_sets.get().entries.all()] == [QUESTION]
    assert made.guidelines.get().body == "Read twice."
    assert not made.applied_gates.exists()
    assert GateProposal.objects.get(collection=made).minimum == 0.3
    assert list(made.memberships.values_list("user__email", flat=True).distinct()) == [cast.analyst.email]


def test_a_restricted_document_arrives_restricted(alpha: Collection, cast: Cast, policy: Document) -> None:
    restriction_set(actor=cast.admin, document=policy, readers=[cast.reviewer.pk], reason="Personal data.")
    target = io.BytesIO()
    collection_export(actor=cast.admin, collection=alpha, target=target)
    arrived = take_in(cast, target.getvalue()).documents.get()
    assert list(arrived.restriction.readers.all()) == []
    assert set(Document.objects.visible_to(cast.analyst)) == {arrived}  # who took it in administers it
    assert not Document.objects.visible_to(cast.reviewer).filter(pk=arrived.pk).exists()


def test_labels_arrive_with_their_places_and_without_names(archive: bytes, cast: Cast) -> None:
    made = take_in(cast, archive)

    labels = made.labels.all()
    assert sorted(labels.values_list("source", "role")) == [
        ("annotator", "primary"),
        ("annotator", "primary"),
        ("llm", "discarded"),
    ]
    people = labels.filter(source="annotator")
    assert len(set(people.values_list("judge_name", flat=True))) == 2
    assert not people.filter(person__isnull=False).exists()
    assert labels.get(source="llm").judge_name == "some-model · 1"
    assert set(labels.values_list("page_start", "line_start", "text_hash")) == {(1, 5, "a" * 64)}
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        everything = b"".join(file.read(name) for name in file.namelist())
    for person in cast.members.values():
        assert person.email.encode() not in everything
        assert person.name.encode() not in everything


def test_the_word_of_an_adjudicator_leaves_alone(alpha: Collection, cast: Cast, policy: Document) -> None:
    _label(policy, role=Role.DISCARDED, source=SourceChoice.ADJUDICATED, person=cast.reviewer)
    target = io.BytesIO()
    collection_export(actor=cast.admin, collection=alpha, target=target)

    made = take_in(cast, target.getvalue())

    people = made.labels.filter(source="annotator")
    assert list(people.values_list("role", flat=True)) == ["discarded"]


def test_versions_stay_versions_and_deleted_documents_stay_behind(
    alpha: Collection, cast: Cast, policy: Document
) -> None:
    later = _document(cast, "policy v2.txt", {"1 A": ["New."]})
    gone = _document(cast, "gone.txt", {"1 B": ["Old."]})
    Document.objects.filter(pk=later.pk).update(version_of=policy, version_number=2)
    document_delete(actor=cast.admin, document=gone, reason="a mistake")
    target = io.BytesIO()
    collection_export(actor=cast.admin, collection=alpha, target=target)

    made = take_in(cast, target.getvalue())

    assert set(made.documents.values_list("name", "version_number", "version_of__name")) == {
        ("policy.txt", 1, None),
        ("policy v2.txt", 2, "policy.txt"),
    }


def test_both_trails_name_the_archive(archive: bytes, alpha: Collection, cast: Cast) -> None:
    made = take_in(cast, archive)

    left = AuditEvent.objects.get(action="collection.exported")
    arrived = AuditEvent.objects.get(action="collection.imported")
    assert (left.collection_id, left.actor) == (alpha.pk, cast.admin)
    assert (arrived.collection_id, arrived.actor) == (made.pk, cast.analyst)
    assert left.after["archive"] == arrived.after["archive"] == _digest(archive)


def _digest(archive: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return hashlib.sha256(file.read(MANIFEST)).hexdigest()


def test_a_trial_writes_nothing_and_says_what_is_left_behind(archive: bytes, cast: Cast) -> None:
    before = AuditEvent.objects.count(), Collection.objects.count()

    figures = archive_inspect(actor=cast.analyst, stream=io.BytesIO(archive), slug="gamma")

    assert (figures.documents, figures.dictionary_entries, figures.question_sets) == (1, 1, 1)
    assert figures.dry_run
    assert any("sent" in remark for remark in figures.remarks)
    assert (AuditEvent.objects.count(), Collection.objects.count()) == before


@pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator", "auditor"])
def test_only_admins_take_a_collection_out(alpha: Collection, cast: Cast, name: str) -> None:
    target = io.BytesIO()

    with pytest.raises(NotAllowed):
        collection_export(actor=cast.members[name], collection=alpha, target=target)

    assert target.getvalue() == b""
    assert not AuditEvent.objects.filter(action="collection.exported").exists()


def test_a_short_name_that_is_taken_is_refused(archive: bytes, cast: Cast) -> None:
    with pytest.raises(Conflict, match="alpha"):
        take_in(cast, archive, slug="")


def test_a_damaged_original_does_not_leave(alpha: Collection, cast: Cast, policy: Document) -> None:
    path = Path(policy.file.path)
    path.write_bytes(b"x" * path.stat().st_size)

    with pytest.raises(WorkbenchError, match="not what was uploaded"):
        collection_export(actor=cast.admin, collection=alpha, target=io.BytesIO())

    path.unlink()
    with pytest.raises(WorkbenchError, match="not in the file store"):
        collection_export(actor=cast.admin, collection=alpha, target=io.BytesIO())


# --- what arrives may be anything ---------------------------------------------------------------------------


def entries_of(archive: bytes) -> Entries:
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(entries: Entries, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return target.getvalue()


def said(entries: Entries, change: Callable[[dict], None]) -> Entries:
    manifest = json.loads(entries[MANIFEST])
    change(manifest)
    return entries | {MANIFEST: json.dumps(manifest).encode()}


def with_table(entries: Entries, name: str, content: bytes) -> Entries:
    """A table of other rows, with a manifest that says so."""

    def change(manifest: dict) -> None:
        manifest["tables"][name] = {
            "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "rows": content.count(b"\n"),
        }

    return said(entries, change) | {name: content}


def first_document(entries: Entries) -> str:
    return next(name for name in entries if name.startswith("documents/"))


#: What is wrong, and what the refusal says, to how it is made from a good archive.
HOSTILE: dict[tuple[str, str], Callable[[Entries], bytes]] = {
    ("not a ZIP file", "not a ZIP file"): lambda e: b"%PDF-1.7",
    ("nothing", "not a ZIP file"): lambda e: b"",
    ("cut in the middle", "end is missing"): lambda e: packed(e)[: len(packed(e)) // 2],
    ("no manifest", "has no manifest"): lambda e: packed({k: v for k, v in e.items() if k != MANIFEST}),
    ("a manifest that is no JSON", "damaged at manifest.json"): lambda e: packed(e | {MANIFEST: b"{"}),
    ("a manifest nested without end", "damaged at manifest.json"): lambda e: packed(
        e | {MANIFEST: b"[" * 200_000}
    ),
    ("a manifest of more lists than documents have", "manifest is too large"): lambda e: packed(
        e | {MANIFEST: b"[" + b"[],{}," * 500_001 + b"]"}, zipfile.ZIP_STORED
    ),
    ("of another product", "not an archive of a collection"): lambda e: packed(
        said(e, lambda m: m.update(format="other"))
    ),
    ("of another version", "another version"): lambda e: packed(said(e, lambda m: m.update(version=2))),
    ("an unknown field", "users: Extra"): lambda e: packed(said(e, lambda m: m.update(users=["root"]))),
    ("an address for its text", "allowed_endpoints: Extra"): lambda e: packed(
        said(e, lambda m: m["collection"].update(allowed_endpoints=["https://evil.example"]))
    ),
    ("a wrong hash", "not what the archive says"): lambda e: packed(
        e | {first_document(e): e[first_document(e)][::-1]}
    ),
    ("a larger document than it says", "not as large"): lambda e: packed(
        e | {first_document(e): e[first_document(e)] + b"."}
    ),
    ("a document missing", "incomplete"): lambda e: packed(
        {k: v for k, v in e.items() if k != first_document(e)}
    ),
    ("a path out of the folder", "unexpected files"): lambda e: packed(
        e | {"../../etc/cron.d/evil": b"* * * * * root true"}
    ),
    ("a path from the root", "unexpected files"): lambda e: packed(
        e | {"/etc/passwd": b"root::0:0::/:/bin/sh"}
    ),
    ("a document whose hash is a path", "sha256: String should match"): lambda e: packed(
        said(e, lambda m: m["documents"][0].update(sha256="../" * 20 + "abcd"))
    ),
    ("two documents of one hash", "there twice"): lambda e: packed(
        said(e, lambda m: m["documents"].append(m["documents"][0]))
    ),
    ("a version of a later document", "no next version"): lambda e: packed(
        said(e, lambda m: m["documents"][0].update(version_of="b" * 64))
    ),
    ("more than documents may have", "not as large"): lambda e: packed(
        said(e, lambda m: m["documents"][0].update(size=2**39))
    ),
    ("a label about nothing", "not in the archive"): lambda e: packed(
        with_table(e, LABELS, e[LABELS].replace(_sha(e).encode(), b"c" * 64))
    ),
    ("a row that is no JSON", "labels.jsonl, 1: Invalid JSON"): lambda e: packed(
        with_table(e, LABELS, b"{\n")
    ),
    ("a line without end", "line is too long"): lambda e: packed(
        with_table(e, LABELS, b'"' + _hard_to_fold(2_000_000) + b"\n")
    ),
    ("a row with a role of its own", "labels.jsonl, 1: role"): lambda e: packed(
        with_table(e, LABELS, e[LABELS].replace(b'"primary"', b'"emperor"'))
    ),
    ("too many rows", "wrong number of rows"): lambda e: packed(
        said(e, lambda m: m["tables"][LABELS].update(rows=m["tables"][LABELS]["rows"] + 1))
    ),
    ("a table that unfolds without end", "unfolds to far more"): lambda e: packed(
        with_table(e, GUIDELINES, b'{"body":"a"}\n' * 200_000)
    ),
    ("a manifest that unfolds without end", "unfolds to far more"): lambda e: packed(
        e | {MANIFEST: e[MANIFEST] + b" " * 3_000_000}
    ),
    ("documents that unfold without end", "unfolds to far more"): lambda e: packed(
        e | {"documents/" + "d" * 64: b"\0" * 3_000_000}
    ),
    **{
        (f"more rows than are accepted in {name}", "has more rows"): lambda e, name=name: packed(
            said(e, lambda m: m["tables"][name].update(rows=MOST_ROWS[name] + 1))
        )
        for name in MOST_ROWS
    },
    ("packed in another way", "compressed in an unknown way"): lambda e: packed(e, zipfile.ZIP_LZMA),
}


def _hard_to_fold(size: int) -> bytes:
    return random.Random(7).randbytes(size // 2).hex().encode()


def _sha(entries: Entries) -> str:
    return first_document(entries).removeprefix("documents/")


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case[0])
def test_a_hostile_archive_is_refused_and_leaves_nothing(
    archive: bytes, cast: Cast, case: tuple[str, str]
) -> None:
    content = HOSTILE[case](entries_of(archive))
    collections = Collection.objects.count()
    files = _files()

    with pytest.raises(WorkbenchError, match=re.escape(case[1])):
        take_in(cast, content)

    assert Collection.objects.count() == collections
    assert not AuditEvent.objects.filter(action="collection.imported").exists()
    assert _files() == files


def _files() -> set[Path]:
    """Everything below the store and above it that a path out of it might reach."""
    root = Path(django_settings.WORKBENCH_HOME)
    return {path for path in root.rglob("*") if path.is_file()}


def test_an_entry_named_twice_is_refused(archive: bytes, cast: Cast) -> None:
    target = io.BytesIO(archive)
    with zipfile.ZipFile(target, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr(MANIFEST, b"{}")

    with pytest.raises(BadArchive, match="two entries"):
        take_in(cast, target.getvalue())


def test_a_link_is_no_document(archive: bytes, cast: Cast) -> None:
    entries = entries_of(archive)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        for name, content in entries.items():
            info = zipfile.ZipInfo(name)
            if name == first_document(entries):
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
                content = b"/etc/passwd"
            file.writestr(info, content)

    with pytest.raises(BadArchive):
        take_in(cast, target.getvalue())


def test_an_encrypted_archive_is_refused(archive: bytes, cast: Cast) -> None:
    content = bytearray(archive)
    content[content.index(b"PK\x01\x02") + 8] |= 1

    with pytest.raises(BadArchive, match="encrypted"):
        take_in(cast, bytes(content))


def test_a_bomb_is_read_no_further_than_it_says(archive: bytes, cast: Cast) -> None:
    """An entry that unpacks to far more than directory and manifest say: the directory is forged as well."""
    entries = entries_of(archive)
    size = len(entries[first_document(entries)])
    bomb = bytearray(packed(entries | {first_document(entries): b"\0" * 50_000_000}))
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = -1
        while (place := bomb.find(mark, place + 1)) >= 0:
            if bomb[place + at : place + at + 4] == (50_000_000).to_bytes(4, "little"):
                bomb[place + at : place + at + 4] = size.to_bytes(4, "little")

    with pytest.raises(BadArchive, match="damaged"):
        take_in(cast, bytes(bomb))


def test_more_than_is_taken_here_is_refused_before_it_is_read(archive: bytes, cast: Cast) -> None:
    with pytest.raises(BadArchive, match="at most"):
        archive_inspect(actor=cast.analyst, stream=io.BytesIO(archive), slug="gamma", most_bytes=10)


def test_rows_are_read_no_further_than_the_manifest_says(
    archive: bytes, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = entries_of(archive)
    more = with_table(entries, GUIDELINES, b"".join(b'{"body":"%d"}\n' % n for n in range(50_000)))
    content = packed(said(more, lambda m: m["tables"][GUIDELINES].update(rows=3)))
    read: list[str] = []
    validated = GuidelineRow.model_validate_json

    def counted(line: bytes) -> GuidelineRow:
        read.append("row")
        return validated(line)

    monkeypatch.setattr(GuidelineRow, "model_validate_json", counted)
    with pytest.raises(BadArchive, match="wrong number of rows"):
        take_in(cast, content)
    assert len(read) == 3


def test_a_blank_scan_leaves_and_arrives(alpha: Collection, cast: Cast) -> None:
    """It would fold to a thousandth, as nothing in an archive may."""
    blank = _document(cast, "blank.txt", {"1 A": ["page"]})
    content = b"\0" * 3_000_000
    Path(blank.file.path).write_bytes(content)
    Document.objects.filter(pk=blank.pk).update(size=len(content), sha256=hashlib.sha256(content).hexdigest())
    target = io.BytesIO()
    collection_export(actor=cast.admin, collection=alpha, target=target)
    assert take_in(cast, target.getvalue()).documents.filter(name="blank.txt", size=3_000_000).exists()


def test_what_was_stored_goes_when_the_rest_fails(
    archive: bytes, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = _files()
    monkeypatch.setattr("workbench.archives.services._labels_in", _no_space)

    with pytest.raises(OSError, match="no space"):
        take_in(cast, archive)

    assert _files() == files
    assert not Collection.objects.filter(slug="gamma").exists()


def _no_space(*_: object) -> None:
    raise OSError("no space")


# --- commands -----------------------------------------------------------------------------------------------


def test_the_commands_take_out_and_in(alpha: Collection, tmp_path: Path) -> None:
    target = tmp_path / "alpha.zip"
    out = io.StringIO()
    call_command("export_collection", "alpha", str(target), "--json", stdout=out)
    left = json.loads(out.getvalue())
    assert stat.S_IMODE(target.stat().st_mode) == 0o600

    out = io.StringIO()
    call_command("import_collection", str(target), "--collection", "gamma", "--dry-run", "--json", stdout=out)
    assert json.loads(out.getvalue())["dry_run"]
    assert not Collection.objects.filter(slug="gamma").exists()

    out = io.StringIO()
    call_command("import_collection", str(target), "--collection", "gamma", "--no-wait", "--json", stdout=out)
    arrived = json.loads(out.getvalue())
    assert arrived["sha256"] == left["sha256"]
    assert Collection.objects.get(slug="gamma").documents.count() == 1


def test_the_commands_refuse_clearly(alpha: Collection, tmp_path: Path) -> None:
    there = tmp_path / "there.zip"
    there.write_bytes(b"something")
    for arguments, words in (
        (("export_collection", "nowhere", str(tmp_path / "a.zip")), "no collection nowhere"),
        (("export_collection", "alpha", str(there)), "is there already"),
        (("import_collection", str(tmp_path / "gone.zip")), "cannot be read"),
        (("import_collection", str(there)), "not a ZIP file"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command(*arguments)
    assert there.read_bytes() == b"something"


# --- by the API ---------------------------------------------------------------------------------------------


def test_the_api_takes_out_and_in(archive: bytes, cast: Cast, client_as: Callable[..., Client]) -> None:
    taken = client_as(cast.admin).get("/api/v1/collection-archives/alpha/")
    content = b"".join(taken.streaming_content)
    assert (taken.status_code, taken["Content-Type"]) == (200, "application/octet-stream")
    assert entries_of(content).keys() == entries_of(archive).keys()

    def sent(**given: object) -> HttpResponse:
        file = SimpleUploadedFile("alpha.zip", content)
        return client_as(cast.outsider).post(
            "/api/v1/collection-archives/", {"file": file, "collection": "gamma", **given}
        )

    tried = sent(dry_run=True)
    assert (tried.status_code, tried.json()["dry_run"]) == (200, True)
    assert not Collection.objects.filter(slug="gamma").exists()
    made = sent()
    assert (made.status_code, made.json()["sha256"]) == (201, _digest(content))
    assert Collection.objects.visible_to(cast.outsider).filter(slug="gamma").exists()
    again = sent()
    assert (again.status_code, again.json()["code"]) == (409, "slug_taken")


@pytest.mark.parametrize("name", ["analyst", "auditor"])
def test_who_does_not_manage_a_collection_is_told_that_there_is_none(
    alpha: Collection, cast: Cast, client_as: Callable[..., Client], name: str
) -> None:
    assert client_as(cast.members[name]).get("/api/v1/collection-archives/alpha/").status_code == 404


def test_a_program_without_the_scope_to_manage_takes_nothing_in(archive: bytes, cast: Cast) -> None:
    cast.analyst.token_scopes = frozenset({Permission.VIEW, Permission.UPLOAD})

    # Nothing is read for it: what it sent may be anything.
    for content in (archive, b"no archive"):
        with pytest.raises(NotAllowed):
            take_in(cast, content)
        with pytest.raises(NotAllowed):
            archive_inspect(actor=cast.analyst, stream=io.BytesIO(content), slug="gamma")

    assert not Collection.objects.filter(slug="gamma").exists()


@pytest.mark.parametrize("scopes", [["view"], ["view", "upload", "ask", "review", "label", "audit"]])
def test_a_trial_by_the_api_needs_the_scope_to_manage(archive: bytes, cast: Cast, scopes: list[str]) -> None:
    _row, key = token_create(actor=cast.analyst, name="looks", scopes=scopes, days=1)
    answer = Client(headers={"Authorization": f"Bearer {key}"}).post(
        "/api/v1/collection-archives/",
        {"file": SimpleUploadedFile("alpha.zip", archive), "collection": "gamma", "dry_run": True},
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    "less",
    [
        {"manifest": 10},
        {"documents": 0},
        {"document_bytes": 10},
        {"table_bytes": 10},
        *({"rows": AT_ONCE.rows | {name: 0}} for name in MOST_ROWS),
    ],
    ids=str,
)
def test_the_api_sends_large_archives_to_the_page(
    archive: bytes,
    cast: Cast,
    client_as: Callable[..., Client],
    monkeypatch: pytest.MonkeyPatch,
    less: dict[str, Any],
    dry_run: bool,
) -> None:
    monkeypatch.setattr(archives_api, "AT_ONCE", replace(AT_ONCE, **less))
    answer = client_as(cast.analyst).post(
        "/api/v1/collection-archives/",
        {"file": SimpleUploadedFile("alpha.zip", archive), "collection": "gamma", "dry_run": dry_run},
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "too_large")
    assert "on the page “Import an archive”" in answer.json()["detail"]
    assert not Collection.objects.filter(slug="gamma").exists()
