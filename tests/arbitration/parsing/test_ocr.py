"""Scanned pages: recognised one at a time in children of their own, with boxes and confidence."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from reportlab.lib.utils import ImageReader

from arbitration.errors import ParseFailure
from arbitration.parsing import isolation
from arbitration.parsing.finish import finish
from arbitration.parsing.isolation import ParseLimits, parse_isolated
from arbitration.parsing.pdf import draft_of_pdf
from arbitration.parsing.recognised import RecognisedLine
from tests.arbitration.parsing.builders import HEIGHT, WIDTH, Sheet, prose

_LIMITS = ParseLimits(wall_s=120.0)


def _scan(path: Path, rows: list[str], *, blank: bool = False) -> Path:
    """A PDF whose only page is the picture of a page with these rows; its second page is blank if asked."""
    typed = Sheet(path.with_suffix(".typed.pdf"))
    typed.lines(72, 100, rows, pitch=20, size=12)
    page = pdfium.PdfDocument(typed.save())[0]
    picture = io.BytesIO()
    page.render(scale=2.0, grayscale=True).to_pil().save(picture, "PNG")
    sheet = Sheet(path)
    sheet.canvas.drawImage(ImageReader(picture), 0, 0, WIDTH, HEIGHT)
    if blank:
        sheet.next_page()
        sheet.canvas.rect(10, 10, 40, 40)
    return sheet.save()


def test_a_scan_is_read_with_boxes_and_confidence(tmp_path: Path) -> None:
    rows = prose(3)
    told: list[tuple[int, int]] = []
    document = parse_isolated(
        path=_scan(tmp_path / "scan.pdf", rows, blank=True),
        filename="scan.pdf",
        limits=_LIMITS,
        on_recognised=lambda done, total: told.append((done, total)),
    )
    assert [line.text for line in document.lines] == rows
    assert told == [(0, 1)]  # the blank page is not asked about
    for place, line in enumerate(document.lines):
        assert line.parsing_method == "ocr"
        assert line.confidence is not None
        assert line.confidence > 0.8
        baseline = 100 + 20 * place
        assert line.x0 == pytest.approx(72, abs=6)
        assert line.y0 is not None
        assert line.y1 is not None
        assert baseline - 16 < line.y0 < baseline < line.y1 < baseline + 8
    assert any("recognised" in warning for warning in document.warnings)


def _answers(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """A child that asks for pages 1 to 3, and does ``code`` when it is to recognise ``page``."""
    monkeypatch.setattr(
        isolation,
        "_CHILD",
        (
            sys.executable,
            "-c",
            "import json, os, sys, time\n"
            "request = json.loads(sys.stdin.read())\n"
            "if '--recognise' not in sys.argv and 'recognised' not in request:\n"
            "    print([1, 2, 3]); sys.exit(4)\n"
            "if '--recognise' in sys.argv:\n"
            "    page = request['page_num']\n"
            f"    {code}\n"
            "    print(json.dumps([['words', 1, 1, 9, 9, 0.9]])); sys.exit(0)\n"
            "said = json.dumps([sorted(request['recognised']), request['warnings']])\n"
            "print(json.dumps({'code': said, 'message': 'm'})); sys.exit(3)\n",
        ),
    )


@pytest.mark.parametrize(
    ("code", "pages", "word"),
    [
        ("os.kill(os.getpid(), 11) if page == 2 else None", '[["1", "3"]', "made the parser fail"),
        ("time.sleep(60) if page == 2 else None", '[["1", "3"]', "within 2 seconds"),
    ],
)
def test_a_page_that_fails_costs_only_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, pages: str, word: str
) -> None:
    _answers(monkeypatch, code)
    (tmp_path / "x.pdf").touch()
    with pytest.raises(ParseFailure) as failure:
        parse_isolated(path=tmp_path / "x.pdf", filename="x.pdf", limits=replace(_LIMITS, ocr_page_s=1))
    assert failure.value.code.startswith(pages)
    assert "page 2 is an image" in failure.value.code
    assert word in failure.value.code


def test_pages_and_time_for_recognition_are_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _answers(monkeypatch, "pass")
    (tmp_path / "x.pdf").touch()
    for limits, left in ((replace(_LIMITS, max_ocr_pages=2), 1), (replace(_LIMITS, ocr_wall_s=0.0), 3)):
        with pytest.raises(ParseFailure) as failure:
            parse_isolated(path=tmp_path / "x.pdf", filename="x.pdf", limits=limits)
        assert f"{left} pages from page" in failure.value.code


def _recognised(rows: list[tuple[float, float, str]]) -> list[RecognisedLine]:
    """Lines at (x, y); boxes differ a little in height, as those of real scans do."""
    return [
        RecognisedLine(text, x, y - (place % 3), x + 5.5 * len(text), y + 11 + (place % 2), 0.9)
        for place, (x, y, text) in enumerate(rows)
    ]


def test_recognised_pages_go_through_the_same_layout(tmp_path: Path) -> None:
    path = _scan(tmp_path / "scan.pdf", ["x"])
    left, right = prose(24, words=6), [f"{row} too" for row in prose(24, words=5)]
    rows = [(60, 100 + 14 * n, text[:44]) for n, text in enumerate(left)]
    rows += [(330, 100 + 14 * n, text[:44]) for n, text in enumerate(right)]
    rows.sort(key=lambda row: row[1])
    draft = draft_of_pdf(path, limits=_LIMITS, recognised={1: _recognised(rows)})
    assert [line.text for line in draft.lines] == [text[:44] for text in (*left, *right)]
    assert {line.parsing_method for line in draft.lines} == {"ocr"}
    assert {line.confidence for line in draft.lines} == {0.9}
    assert draft.unread == []
    assert finish(draft, limits=_LIMITS).passages


def test_cells_of_a_recognised_table_stay_on_their_row(tmp_path: Path) -> None:
    path = _scan(tmp_path / "scan.pdf", ["x"])
    rows = [(60, 100, "Fee"), (300, 101, "5 euro"), (60, 120, "Late fee"), (300, 119, "7 euro")]
    draft = draft_of_pdf(path, limits=_LIMITS, recognised={1: _recognised(rows)})
    assert [line.text for line in draft.lines] == ["Fee  5 euro", "Late fee  7 euro"]


def test_a_scan_attached_to_a_message_is_asked_about_by_the_messages_page(tmp_path: Path) -> None:
    from arbitration.parsing.mail import draft_of_mail

    message = EmailMessage()
    message["From"], message["Subject"] = "ana@example.test", "Scan"
    message.set_content("See the scan.")
    data = _scan(tmp_path / "scan.pdf", ["x"]).read_bytes()
    message.add_attachment(data, maintype="application", subtype="pdf", filename="scan.pdf")
    assert draft_of_mail(message.as_bytes(), limits=_LIMITS).unread == [2]
    lines = {2: _recognised([(60, 100, "Recognised words")])}
    draft = draft_of_mail(message.as_bytes(), limits=_LIMITS, recognised=lines)
    assert [(line.page_num, line.text) for line in draft.lines][-1] == (2, "Recognised words")
