"""The child process: limits, failures and what the parent makes of them."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from reportlab.lib.pdfencrypt import StandardEncryption

from arbitration.documents import ParsedDocument
from arbitration.errors import ParseFailure, PasswordRequired
from arbitration.parsing import isolation
from arbitration.parsing.isolation import ParseLimits, parse_isolated, render_page
from tests.arbitration.parsing.builders import Sheet, prose

_LIMITS = ParseLimits(wall_s=30.0, cpu_s=20)


@pytest.fixture
def letter(tmp_path: Path) -> Path:
    """A PDF of two pages of text."""
    sheet = Sheet(tmp_path / "letter.pdf")
    sheet.lines(72, 80, prose(30))
    sheet.next_page()
    sheet.lines(72, 80, prose(10, words=8))
    return sheet.save()


def _code(**options: object) -> str:
    with pytest.raises(ParseFailure) as failure:
        parse_isolated(**{"limits": _LIMITS, **options})  # type: ignore[arg-type]
    assert len(failure.value.message) > 20
    return failure.value.code


def test_a_pdf_comes_back_as_a_document(letter: Path) -> None:
    document = parse_isolated(path=letter, filename="letter.pdf", limits=_LIMITS)
    assert isinstance(document, ParsedDocument)
    assert document.kind == "pdf"
    assert [page.page_num for page in document.pages] == [1, 2]
    assert [line.text for line in document.lines] == [*prose(30), *prose(10, words=8)]
    assert document.pages[1].text == "\n".join(prose(10, words=8))
    assert document.lines[0].character_count == len(document.lines[0].text)
    assert sum(len(passage.text.split()) for passage in document.passages) == 30 * 7 + 10 * 8
    assert document.language == "en"


def test_markdown_and_text_come_back_too(tmp_path: Path) -> None:
    path = tmp_path / "stored"
    path.write_text("# Rules\n\nLas reglas de la casa son para los que viven en ella.\n", "utf-8")
    markdown = parse_isolated(path=path, filename="rules.md", limits=_LIMITS)
    assert (markdown.kind, markdown.toc_source, markdown.title) == ("markdown", "markup", "Rules")
    assert markdown.language == "es"
    assert markdown.section_depth == 1
    text = parse_isolated(path=path, filename="rules.txt", limits=_LIMITS)
    assert (text.kind, text.lines[0].text) == ("text", "# Rules")


def test_refusals_keep_their_code(tmp_path: Path, letter: Path) -> None:
    empty = tmp_path / "empty.pdf"
    empty.write_bytes(b"")
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nnothing else")
    blank = Sheet(tmp_path / "blank.pdf")
    blank.canvas.rect(10, 10, 50, 50, fill=1)
    assert _code(path=tmp_path / "gone.pdf", filename="gone.pdf") == "missing"
    assert _code(path=empty, filename="empty.pdf") == "empty"
    assert _code(path=broken, filename="broken.pdf") == "corrupt"
    assert _code(path=letter, filename="letter.xls") == "unsupported_type"
    assert _code(path=letter, filename="letter.txt") == "type_mismatch"
    assert _code(path=blank.save(), filename="blank.pdf") == "no_text"


def test_limits_on_size_pages_and_characters(letter: Path) -> None:
    name = "letter.pdf"
    assert _code(path=letter, filename=name, limits=replace(_LIMITS, max_bytes=100)) == "too_large"
    assert _code(path=letter, filename=name, limits=replace(_LIMITS, max_pages=1)) == "too_many_pages"
    assert _code(path=letter, filename=name, limits=replace(_LIMITS, max_characters=50)) == "too_large"
    assert _code(path=letter, filename=name, limits=replace(_LIMITS, max_output_bytes=500)) == "too_large"


def test_encrypted_files_ask_for_the_password(tmp_path: Path) -> None:
    sheet = Sheet(tmp_path / "locked.pdf", encrypt=StandardEncryption("open sesame", strength=128))
    sheet.lines(72, 80, prose(5))
    path = sheet.save()
    with pytest.raises(PasswordRequired) as failure:
        parse_isolated(path=path, filename="locked.pdf", limits=_LIMITS)
    assert failure.value.code == "encrypted"
    with pytest.raises(PasswordRequired) as failure:
        parse_isolated(path=path, filename="locked.pdf", limits=_LIMITS, password="guess")
    assert failure.value.code == "wrong_password"
    document = parse_isolated(path=path, filename="locked.pdf", limits=_LIMITS, password="open sesame")
    assert document.lines[0].text == prose(1)[0]
    assert render_page(path=path, page_num=1, password="open sesame").startswith(b"\x89PNG")


def test_too_little_memory_is_said_to_be_so(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("The keeper stores each form in a locked room.\n" * 150_000, "utf-8")
    tight = replace(_LIMITS, memory_bytes=96 * 1024 * 1024)
    assert _code(path=path, filename="long.txt", limits=tight) == "out_of_memory"


def _misbehave(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(isolation, "_CHILD", (sys.executable, "-c", code))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os; os.kill(os.getpid(), 11)", "crashed"),
        ("import os; os.abort()", "crashed"),
        ("import sys; sys.exit(1)", "crashed"),
        ("print('not a document')", "crashed"),
        ("print('{}')", "crashed"),
        ("print('[\"code\"]'); import sys; sys.exit(3)", "crashed"),
        ("import os; os.kill(os.getpid(), 9)", "out_of_memory"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)", "time_out"),
        ("import sys\nwhile True: sys.stdout.write('x' * 65536)", "too_large"),
        ("import sys\nfor _ in range(50): sys.stderr.write('x' * 65536)\nsys.exit(1)", "crashed"),
    ],
)
def test_whatever_the_child_does_becomes_a_failure(
    monkeypatch: pytest.MonkeyPatch, letter: Path, code: str, expected: str
) -> None:
    _misbehave(monkeypatch, code)
    limits = replace(_LIMITS, max_output_bytes=1_000_000)
    assert _code(path=letter, filename="letter.pdf", limits=limits) == expected


def test_processor_time_that_is_used_up_is_no_lack_of_memory(
    monkeypatch: pytest.MonkeyPatch, letter: Path
) -> None:
    _misbehave(
        monkeypatch,
        "from arbitration.parsing.__main__ import _limit_self\n"
        "from arbitration.parsing.limits import ParseLimits\n"
        "_limit_self(ParseLimits(cpu_s=1))\n"
        "while True: pass",
    )
    assert _code(path=letter, filename="letter.pdf", limits=replace(_LIMITS, wall_s=120.0)) == "time_out"


def test_a_child_that_hangs_is_ended_with_everything_it_started(
    monkeypatch: pytest.MonkeyPatch, letter: Path, tmp_path: Path
) -> None:
    note = tmp_path / "grandchild"
    _misbehave(
        monkeypatch,
        "import subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(note)!r}, 'w').write(str(p.pid))\n"
        "time.sleep(60)",
    )
    started = time.monotonic()
    assert _code(path=letter, filename="letter.pdf", limits=replace(_LIMITS, wall_s=3.0)) == "time_out"
    assert time.monotonic() - started < 20
    assert _ends(int(note.read_text()), within_s=20)


def _ends(pid: int, *, within_s: float) -> bool:
    """Whether a process is dead, reaped or not. A busy machine delivers a kill a moment after it was sent."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], within_s)[0])
    finally:
        os.close(handle)


def test_the_child_does_not_see_the_environment(monkeypatch: pytest.MonkeyPatch, letter: Path) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    _misbehave(
        monkeypatch,
        "import os, json, sys\n"
        "print(json.dumps({'code': ','.join(sorted(os.environ)), 'message': 'm'}))\n"
        "sys.exit(3)",
    )
    with pytest.raises(ParseFailure) as failure:
        parse_isolated(path=letter, filename="letter.pdf", limits=_LIMITS)
    assert set(failure.value.code.split(",")) <= {"LANG", "LC_ALL", "LC_CTYPE", "PATH"}


def test_a_request_by_hand(letter: Path) -> None:
    with letter.open("rb") as file:
        request = {"source": file.fileno(), "filename": "letter.pdf", "password": None}
        done = subprocess.run(
            [sys.executable, "-m", "arbitration.parsing"],
            input=json.dumps({**request, "limits": _as_json(_LIMITS)}).encode(),
            capture_output=True,
            check=False,
            pass_fds=[file.fileno()],
        )
    assert done.returncode == 0
    assert ParsedDocument.model_validate_json(done.stdout).kind == "pdf"


def _as_json(limits: ParseLimits) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(limits)


def test_the_child_loads_neither_pydantic_nor_numpy() -> None:
    code = (
        "import sys, arbitration.parsing.__main__, arbitration.parsing.registry, arbitration.parsing.pdf,"
        " arbitration.parsing.markdown, arbitration.parsing.drafts\n"
        "print([name for name in ('pydantic', 'numpy', 'PIL', 'django') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"


def test_the_parent_does_not_load_the_pdf_library() -> None:
    code = "import sys, arbitration.parsing.isolation; print('pypdfium2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "False"


def test_pages_come_as_images(letter: Path) -> None:
    image = render_page(path=letter, page_num=2, scale=1.0)
    assert _png_size(image) == (612, 792)
    assert image[25] == 3  # a palette: text has few colours, and the page a third of the bytes
    webp = render_page(path=letter, page_num=2, scale=1.0, image_format="webp")
    assert webp[:4] == b"RIFF"
    assert webp[8:12] == b"WEBP"


def test_images_keep_to_the_pixel_limit(letter: Path) -> None:
    image = render_page(path=letter, page_num=1, scale=8.0, limits=replace(_LIMITS, max_pixels=200_000))
    width, height = _png_size(image)
    assert 150_000 < width * height <= 210_000


def test_a_page_that_is_not_there(letter: Path) -> None:
    for number in (0, 3, -1):
        with pytest.raises(ParseFailure) as failure:
            render_page(path=letter, page_num=number)
        assert failure.value.code == "no_such_page"


def _png_size(image: bytes) -> tuple[int, int]:
    assert image.startswith(b"\x89PNG")
    return int.from_bytes(image[16:20], "big"), int.from_bytes(image[20:24], "big")


def test_nothing_of_a_password_is_on_the_command_line(monkeypatch: pytest.MonkeyPatch, letter: Path) -> None:
    _misbehave(
        monkeypatch,
        "import json, sys\n"
        "sys.stdin.read()\n"
        "print(json.dumps({'code': ' '.join(sys.argv), 'message': 'm'}))\n"
        "sys.exit(3)",
    )
    with pytest.raises(ParseFailure) as failure:
        parse_isolated(path=letter, filename="letter.pdf", limits=_LIMITS, password="open sesame")
    assert "sesame" not in failure.value.code
    assert os.fspath(letter) not in failure.value.code
