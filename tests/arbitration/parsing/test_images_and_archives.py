"""Pictures, Outlook messages and ZIPs, in the isolated child as uploads are."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from arbitration.errors import ParseFailure
from arbitration.parsing import unpacking
from arbitration.parsing.image import draft_of_image, pdf_of_image
from arbitration.parsing.isolation import ParseLimits, parse_isolated, render_page, unpack
from arbitration.parsing.msg import draft_of_msg
from arbitration.parsing.pdf import open_pdf
from arbitration.parsing.unpacking import members_of
from tests.arbitration.parsing.cfb import outlook_message

_LIMITS = ParseLimits(wall_s=120.0)
_WORDS = "The supplier pays within thirty days"


def _picture(kind: str = "PNG", *, pages: int = 1, mode: str = "RGB", words: str = _WORDS) -> bytes:
    picture = Image.new("RGB", (900, 160), "white")
    ImageDraw.Draw(picture).text((40, 50), words, fill="black", font=ImageFont.load_default(size=40))
    picture = picture.convert(mode)
    out = io.BytesIO()
    more = {"save_all": True, "append_images": [picture] * (pages - 1)} if pages > 1 else {}
    picture.save(out, kind, **more)
    return out.getvalue()


def test_a_picture_is_read_and_drawn_like_a_scan(tmp_path: Path) -> None:
    path = tmp_path / "stored"
    path.write_bytes(_picture())
    document = parse_isolated(path=path, filename="invoice.png", limits=_LIMITS)
    assert (document.kind, [line.text for line in document.lines]) == ("image", [_WORDS])
    line = document.lines[0]
    assert line.parsing_method == "ocr"
    assert (line.confidence or 0) > 0.8
    assert line.x0 == pytest.approx(40 / 2, abs=6)  # 144 pixels to an inch
    assert render_page(path=path, page_num=1, filename="invoice.png").startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("kind", "pages", "mode"), [("TIFF", 3, "1"), ("JPEG", 1, "L"), ("PNG", 1, "RGBA"), ("PNG", 1, "P")]
)
def test_each_picture_of_a_file_is_a_page(kind: str, pages: int, mode: str) -> None:
    data = _picture(kind, pages=pages, mode=mode)
    draft = draft_of_image(data, limits=_LIMITS)
    assert draft.unread == list(range(1, pages + 1))
    assert [page.page_num for page in draft.pages] == draft.unread
    assert (draft.pages[0].width, draft.pages[0].height) == (450.0, 80.0)
    assert len(open_pdf(pdf_of_image(data, limits=_LIMITS, only=pages))) == 1


def test_hostile_pictures_are_refused_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def code(data: bytes, limits: ParseLimits = _LIMITS) -> str:
        with pytest.raises(ParseFailure) as failure:
            pdf_of_image(data, limits=limits)
        assert len(failure.value.message) > 20
        return failure.value.code

    assert code(b"\x89PNG\r\n\x1a\nnothing else") == "corrupt"
    assert code(_picture()[:200]) == "corrupt"
    assert code(_picture("TIFF", pages=3), ParseLimits(max_ocr_pages=2)) == "too_many_pages"
    monkeypatch.setattr("arbitration.parsing.image._MAX_PIXELS", 1000)
    assert code(_picture()) == "too_large"


def test_an_outlook_message_is_read_with_its_attachments(tmp_path: Path) -> None:
    data = outlook_message(
        subject="Notice of change",
        body="Dear all,\r\n\r\nthe fee rises to seven euro.\r\n",
        sender="Ana Lee",
        attachments={
            "terms.txt": b"The term is one year. " * 300,
            "logo.png": _picture(),
            "tool.exe": b"MZ\x90\0",
        },
        inline=frozenset({"logo.png"}),
    )
    path = tmp_path / "stored"
    path.write_bytes(data)
    document = parse_isolated(path=path, filename="notice.msg", limits=_LIMITS)
    texts = [line.text for line in document.lines]
    assert document.kind == "email"
    assert document.title == "Notice of change"
    assert texts[:2] == ["From: Ana Lee", "Subject: Notice of change"]
    assert "the fee rises to seven euro." in texts
    assert any(text.startswith("Attachment 1: terms.txt (6,600 bytes)") for text in texts)
    assert any(text.startswith("The term is one year.") for text in texts)
    said = " ".join(document.warnings)
    assert "Attachment: logo.png: not read. Pictures inside the text" in said
    assert "Attachment: tool.exe: not read." in said


@pytest.mark.parametrize(
    "data", [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"]
)
def test_a_damaged_outlook_message_says_so(data: bytes) -> None:
    with pytest.raises(ParseFailure) as failure:
        draft_of_msg(data, limits=_LIMITS)
    assert failure.value.code == "corrupt"


def _zip(files: dict[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def test_the_files_of_a_zip_come_out_under_clean_names(tmp_path: Path) -> None:
    path = tmp_path / "stored"
    inner = _zip({"a.txt": b"a"})
    path.write_bytes(
        _zip(
            {
                "../../etc/passwd.txt": b"one",
                "C:\\deeds\\2024\\nda.txt": b"two",
                "deeds/": b"",
                "__MACOSX/._x": b"clutter",
                "more.zip": inner,
                "noise.txt": b"0" * 3_000_000,
            }
        )
    )
    found = list(unpack(path=path, limits=_LIMITS))
    assert [(one.name, one.content) for one in found if not one.refusal] == [
        ("etc - passwd.txt", b"one"),
        ("C - deeds - 2024 - nda.txt", b"two"),
    ]
    refused = {one.name: one.refusal for one in found if one.refusal}
    assert refused["more.zip"].startswith("A ZIP inside a ZIP")
    assert "far more than it shows" in refused["noise.txt"]


def test_zip_bombs_are_refused_before_anything_is_unfolded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def code(data: bytes) -> str:
        with pytest.raises(ParseFailure) as failure:
            members_of(data, limits=_LIMITS)
        assert len(failure.value.message) > 20
        return failure.value.code

    assert code(_zip({f"{n}.txt": b"0" * 900_000 for n in range(5)})) == "bomb"
    assert code(b"PK\x03\x04 broken") == "corrupt"
    assert code(_zip({"folder/": b""})) == "empty"
    monkeypatch.setattr(unpacking, "MAX_TOTAL", 100)
    assert code(_zip({"a.txt": b"x" * 101})) == "too_large"
    monkeypatch.setattr(unpacking, "MAX_FILES", 2)
    assert code(_zip({f"{n}.txt": b"x" for n in range(3)})) == "too_large"
    damaged = bytearray(_zip({"a.txt": b"words " * 50, "b.txt": b"other"}, method=zipfile.ZIP_STORED))
    damaged[damaged.index(b"words")] = ord("W")
    path = tmp_path / "stored"
    path.write_bytes(damaged)
    first, second = unpack(path=path, limits=_LIMITS)
    assert "damaged inside the ZIP" in first.refusal
    assert second.content == b"other"
