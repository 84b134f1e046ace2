"""Signed exports: what the key signed is told from everything else, here and with openssl alone."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from django.core.management import CommandError, call_command

from tests.workbench.cast import Cast
from tests.workbench.exports.test_exports import ERA, ClientAs, made
from tests.workbench.scene import Scene
from workbench.audit.models import AuditEvent
from workbench.errors import WorkbenchError
from workbench.exports import keys
from workbench.exports.checks import keys_of_exports_are_keys
from workbench.exports.services import period_export, run_export
from workbench.exports.sums import export_check

#: As words of a setting.
FIRST, SECOND = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))


def public(word: str) -> keys.PublicKey:
    key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(word))
    return keys.PublicKey(key.public_key().public_bytes_raw())


@pytest.fixture
def signing(settings) -> Callable[..., None]:
    """Sets the key of the installation and its earlier ones."""

    def give(key: str = "", *earlier: str) -> None:
        settings.EXPORT_SIGNING_KEY = key
        settings.EXPORT_PUBLIC_KEYS = [public(word).text for word in earlier]

    give()
    return give


Signing = Callable[..., None]


@pytest.fixture
def run_files(scene: Scene, cast: Cast, tmp_path: Path) -> Callable[[], Path]:
    """Makes an export of the run and gives the folder it was fetched into."""

    def make() -> Path:
        for name, content in made(run_export(actor=cast.auditor, run=scene.run)).items():
            (tmp_path / name).write_bytes(content)
        return tmp_path

    return make


@pytest.fixture
def period(scene: Scene, cast: Cast, tmp_path: Path) -> Callable[[], Path]:
    """Makes an export of all time and gives its archive."""

    def make() -> Path:
        export = period_export(actor=cast.auditor, collection=cast.alpha, since=ERA[0], until=ERA[1])
        ((name, content),) = made(export).items()
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return make


def verify(path: Path, *options: object) -> dict[str, object]:
    out = StringIO()
    call_command("verify_export", "--json", str(path), *map(str, options), stdout=out)
    return json.loads(out.getvalue())


def refusal(path: Path, *options: object) -> CommandError:
    with pytest.raises(CommandError) as caught:
        verify(path, *options)
    return caught.value


def printed_keys(*options: str) -> str:
    out = StringIO()
    call_command("export_key", *options, stdout=out)
    return out.getvalue()


class TestRuns:
    def test_without_a_key_the_record_the_page_and_the_trail_say_so(
        self, run_files: Callable[[], Path], scene: Scene, cast: Cast, client_as: ClientAs, signing: Signing
    ) -> None:
        folder, pk = run_files(), scene.run.pk
        assert {file.name for file in folder.glob(f"run-{pk}.*")} == {
            f"run-{pk}.html",
            f"run-{pk}.pdf",
            f"run-{pk}.docx",
            f"run-{pk}.sha256",
        }
        assert "none: this export is not signed" in (folder / f"run-{pk}.html").read_text("utf-8")
        export = scene.run.exports.get()
        page = client_as(cast.auditor).get(export.get_absolute_url()).content.decode()
        assert "Not signed: the installation had no key for it." in page
        assert AuditEvent.objects.get(action="export.made").after["signed_by"] is None
        assert verify(folder / f"run-{pk}.pdf") == {"files": 3, "signed": False, "key": None}

    def test_with_a_key_they_name_it_and_the_signature_holds(
        self, run_files: Callable[[], Path], scene: Scene, cast: Cast, client_as: ClientAs, signing: Signing
    ) -> None:
        signing(FIRST)
        folder, pk, key = run_files(), scene.run.pk, public(FIRST)
        export = scene.run.exports.get()

        assert export.signed_by == key.id
        assert key.id in (folder / f"run-{pk}.html").read_text("utf-8")
        client = client_as(cast.auditor)
        assert key.id in client.get(export.get_absolute_url()).content.decode()
        assert client.get(f"/api/v1/exports/{export.pk}/").json()["signed_by"] == key.id
        assert AuditEvent.objects.get(action="export.made").after["signed_by"] == key.id
        for name in ("html", "pdf", "sha256", "sha256.sig"):
            assert verify(folder / f"run-{pk}.{name}") == {"files": 3, "signed": True, "key": key.id}

    def test_another_byte_is_found(
        self, run_files: Callable[[], Path], scene: Scene, signing: Signing
    ) -> None:
        signing(FIRST)
        folder, pk = run_files(), scene.run.pk
        html = folder / f"run-{pk}.html"
        was = html.read_bytes()
        html.write_bytes(was.replace(b"twenty-four", b"forty-eight"))
        assert f"run-{pk}.html was changed" in str(refusal(html))
        assert refusal(html).returncode == 1

        # Whoever changes a file changes its sum too: that is what the signature is for.
        sums = folder / f"run-{pk}.sha256"
        lines = sums.read_text().splitlines()
        changed = hashlib.sha256(html.read_bytes()).hexdigest()
        sums.write_text("\n".join([f"{changed}  {html.name}", *lines[1:]]) + "\n")
        assert "the signature is of other sums" in str(refusal(html))
        (folder / f"run-{pk}.sha256.sig").unlink()
        assert "it is not signed" in str(refusal(html))

    def test_openssl_and_sha256sum_are_enough(
        self, run_files: Callable[[], Path], scene: Scene, signing: Signing
    ) -> None:
        openssl = shutil.which("openssl")
        if openssl is None:
            pytest.skip("openssl is not installed")
        signing(FIRST)
        folder, sums = run_files(), f"run-{scene.run.pk}.sha256"
        (folder / "key.pem").write_text(printed_keys(), "utf-8")
        subprocess.run(
            ["sha256sum", "--check", "--strict", sums], cwd=folder, check=True, capture_output=True
        )
        command = [openssl, "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin", "-in", sums]
        done = subprocess.run(
            [*command, "-sigfile", f"{sums}.sig"], cwd=folder, check=False, capture_output=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


class TestPeriods:
    def test_the_archive_holds_sums_and_signature(self, period: Callable[[], Path], signing: Signing) -> None:
        signing(FIRST)
        path = period()
        with zipfile.ZipFile(path) as parcel:
            assert len(parcel.read("SHA256SUMS.sig")) == 64
            assert public(FIRST).id in parcel.read("overview.html").decode()
            listed = len(parcel.read("SHA256SUMS").splitlines())
        assert verify(path) == {"files": listed, "signed": True, "key": public(FIRST).id}

    def test_without_a_key_there_is_none(self, period: Callable[[], Path], signing: Signing) -> None:
        path = period()
        with zipfile.ZipFile(path) as parcel:
            assert "SHA256SUMS.sig" not in parcel.namelist()
            assert "none: this export is not signed" in parcel.read("overview.html").decode()
        assert verify(path)["signed"] is False
        signing(FIRST)
        assert "it is not signed" in str(refusal(path))

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"trail.jsonl": b"{}\n"}, "trail.jsonl was changed"),
            ({"trail.jsonl": None}, "trail.jsonl is missing"),
            ({"more.txt": b"more"}, "more.txt was added"),
            ({"SHA256SUMS": b"\xff"}, "the signature is of other sums"),
        ],
    )
    def test_what_was_done_to_an_archive_is_named(
        self, change: dict[str, bytes | None], words: str, period: Callable[[], Path], signing: Signing
    ) -> None:
        signing(FIRST)
        path = period()
        with zipfile.ZipFile(path) as parcel:
            files: dict[str, bytes | None] = {name: parcel.read(name) for name in parcel.namelist()}
        with zipfile.ZipFile(path, "w") as parcel:
            for name, content in (files | change).items():
                if content is not None:
                    parcel.writestr(name, content)
        assert words in str(refusal(path))


class TestKeys:
    def test_after_a_rotation_old_exports_are_checked_with_the_old_key(
        self, period: Callable[[], Path], signing: Signing
    ) -> None:
        signing(FIRST)
        path = period()
        signing(SECOND, FIRST)
        assert verify(path)["key"] == public(FIRST).id
        rows = json.loads(printed_keys("--json"))
        assert [(row["id"], row["is_current"]) for row in rows] == [
            (public(SECOND).id, True),
            (public(FIRST).id, False),
        ]
        signing(SECOND)
        assert "another key than those known here" in str(refusal(path))

    def test_who_has_only_the_printed_keys_checks_with_them(
        self, period: Callable[[], Path], signing: Signing, tmp_path: Path
    ) -> None:
        signing(SECOND, FIRST)
        path, file = period(), tmp_path / "keys.pem"
        file.write_text(printed_keys(), "utf-8")
        assert keys.read_public_keys(file.read_bytes()) == [public(SECOND), public(FIRST)]
        signing()
        assert verify(path) == {"files": verify(path)["files"], "signed": True, "key": None}, (
            "nothing to check with"
        )
        assert verify(path, "--key", file)["key"] == public(SECOND).id
        file.write_text(public(FIRST).text, "utf-8")
        assert refusal(path, "--key", file).returncode == 1
        file.write_text("", "utf-8")
        assert refusal(path, "--key", file).returncode == 2

    def test_a_key_is_given_as_bytes_or_as_pem(self, settings, signing: Signing) -> None:
        key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(FIRST))
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        for given in (FIRST, f"{FIRST}\n", pem):
            settings.EXPORT_SIGNING_KEY = given
            assert keys.signer().id == public(FIRST).id
            assert keys_of_exports_are_keys() == []
        settings.EXPORT_SIGNING_KEY, settings.EXPORT_PUBLIC_KEYS = "", [public(FIRST).pem]
        assert [known.id for known in keys.public_keys()] == [public(FIRST).id]

    def test_what_is_no_key_stops_the_start_and_is_not_repeated(self, settings, signing: Signing) -> None:
        other = X25519PrivateKey.generate()
        pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        for given in ("secret", base64.b64encode(b"too short").decode(), pem, pem[:40]):
            settings.EXPORT_SIGNING_KEY = given
            (error,) = keys_of_exports_are_keys()
            assert error.id == "exports.E001"
            assert given not in error.msg
        settings.EXPORT_SIGNING_KEY = ""
        public_pem = other.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
        for given in ("x", public_pem):
            settings.EXPORT_PUBLIC_KEYS = [given]
            with pytest.raises(WorkbenchError, match="public key"):
                keys.public_keys()

    def test_without_a_key_there_is_none_to_print(self, signing: Signing) -> None:
        with pytest.raises(CommandError, match="EXPORT_SIGNING_KEY is not set"):
            printed_keys()


@pytest.mark.parametrize(
    "content", [b"", b"no zip", b"0" * 64 + b"  gone.pdf\n", b"line\nline\n", b"\xff\xfe"]
)
def test_what_is_no_export_is_said_to_be_none(content: bytes, tmp_path: Path, signing: Signing) -> None:
    for name in ("run-1.sha256", "other.pdf"):
        (tmp_path / name).write_bytes(content)
        assert refusal(tmp_path / name).returncode in {1, 2}
    archive = tmp_path / "any.zip"
    with zipfile.ZipFile(archive, "w") as parcel:
        parcel.writestr("a.txt", content)
    assert refusal(archive).returncode == 2
    assert refusal(tmp_path / "missing.zip").returncode == 2


def test_sums_lead_out_of_no_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_bytes(b"secret")
    folder = tmp_path / "in"
    folder.mkdir()
    digest = hashlib.sha256(b"secret").hexdigest()
    (folder / "run-1.sha256").write_text(f"{digest}  ../secret.txt\n")
    with pytest.raises(Exception, match="is missing"):
        export_check(folder / "run-1.sha256", keys=())


def test_a_name_that_stands_twice_in_an_archive_is_refused(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as parcel:
        parcel.writestr("a.txt", b"a")
        parcel.writestr("b.txt", b"b")
    (tmp_path / "a.zip").write_bytes(content.getvalue().replace(b"b.txt", b"a.txt"))
    with pytest.raises(Exception, match="twice"):
        export_check(tmp_path / "a.zip", keys=())
