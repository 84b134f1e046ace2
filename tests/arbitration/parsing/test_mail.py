"""Messages: headers, bodies, attachments as parts of their own, and the limits of nesting."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.lib.pdfencrypt import StandardEncryption

from arbitration.errors import ParseFailure
from arbitration.parsing import mail
from arbitration.parsing.drafts import Draft
from arbitration.parsing.finish import finish
from arbitration.parsing.isolation import parse_isolated, render_page
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.mail import draft_of_mail
from tests.arbitration.parsing.builders import Sheet, prose
from tests.arbitration.parsing.office import package, paragraph


def _message(body: str = "The fee is due in May.", *, subject: str = "Fees") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "ana@example.test", "ben@example.test", subject
    message.set_content(body)
    return message


def _draft(message: EmailMessage, **options: object) -> Draft:
    return draft_of_mail(message.as_bytes(), limits=ParseLimits(), **options)  # type: ignore[arg-type]


def _attach(message: EmailMessage, data: bytes, name: str) -> None:
    message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)


def _pdf(path: Path, **options: object) -> bytes:
    sheet = Sheet(path, **options)
    sheet.lines(72, 80, prose(12))
    sheet.next_page()
    sheet.lines(72, 80, ["The second page has its own words."])
    return sheet.save().read_bytes()


def test_headers_and_body_are_lines() -> None:
    draft = _draft(_message("First paragraph.\n\nSecond one\non two lines.", subject="Año – fees"))
    assert [line.text for line in draft.lines] == [
        "From: ana@example.test",
        "To: ben@example.test",
        "Subject: Año – fees",
        "First paragraph.",
        "Second one",
        "on two lines.",
    ]
    assert draft.title == "Año – fees"
    assert {line.parsing_method for line in draft.lines} == {"email"}


def test_the_html_form_is_read_and_a_different_plain_form_is_reported() -> None:
    plain = (
        "Pay nothing at all this year because every single fee was waived by the council in one long meeting "
        "yesterday evening, and nobody needs another reminder until further notice reaches them."
    )
    shown = (
        "<h2>Fees</h2><p>Members owe seven euro per month starting April, payable at our front desk before noon on "
        "weekdays only; receipts follow within ten days, with interest charged for late transfers.</p>"
        "<p hidden>Obey</p>"
    )
    message = _message(plain)
    message.add_alternative(shown, subtype="html")
    draft = _draft(message)
    assert any("Members owe seven euro" in line.text for line in draft.lines)
    assert not any("Pay nothing" in line.text for line in draft.lines)
    assert [line.text for line in draft.lines if line.is_hidden] == ["Obey"]
    assert any("something else than the HTML form" in warning for warning in draft.warnings)


def test_attachments_are_sections_with_their_own_pages(tmp_path: Path) -> None:
    message = _message()
    _attach(message, _pdf(tmp_path / "a.pdf"), "list.pdf")
    _attach(message, package(paragraph("Rules", style="H1") + paragraph("Words of rules.")), "rules.docx")
    _attach(message, b"zipped", "data.zip")
    draft = _draft(message)
    found = finish(draft, limits=ParseLimits())
    assert [(s.level, s.title, s.start_page) for s in found.sections] == [
        (1, "Fees", 1),
        (1, "Attachment: list.pdf", 2),
        (1, "Attachment: rules.docx", 4),
        (2, "Rules", 4),
    ]
    on_pdf = [line for line in draft.lines if line.page_num == 3]
    assert [line.text for line in on_pdf] == ["The second page has its own words."]
    assert on_pdf[0].x0 is not None
    assert draft.pages[2].width == 612
    assert any("data.zip" in warning and "not read" in warning for warning in draft.warnings)


def test_pages_of_an_attached_pdf_can_be_drawn(tmp_path: Path) -> None:
    message = _message()
    _attach(message, _pdf(tmp_path / "a.pdf"), "list.pdf")
    path = tmp_path / "m.eml"
    path.write_bytes(message.as_bytes())
    document = parse_isolated(path=path, filename="m.eml")
    assert [page.width for page in document.pages] == [None, 612, 612]
    assert render_page(path=path, page_num=3, filename="m.eml").startswith(b"\x89PNG")
    for number in (1, 4):
        with pytest.raises(ParseFailure) as failure:
            render_page(path=path, page_num=number, filename="m.eml")
        assert failure.value.code == "no_such_page"


def test_an_attachment_that_fails_costs_only_itself(tmp_path: Path) -> None:
    message = _message()
    _attach(message, b"%PDF-1.7 broken", "broken.pdf")
    _attach(
        message, _pdf(tmp_path / "l.pdf", encrypt=StandardEncryption("sesame", strength=128)), "locked.pdf"
    )
    draft = _draft(message)
    assert [page.page_num for page in draft.pages] == [1]
    assert sum("not read" in warning for warning in draft.warnings) == 2
    assert len(_draft(message, password="sesame").pages) == 3


def test_messages_in_messages_are_read_to_a_depth() -> None:
    message = _message("innermost words", subject="level 0")
    for level in range(1, 6):
        outer = _message(f"words {level}", subject=f"level {level}")
        outer.add_attachment(message)
        message = outer
    draft = _draft(message)
    subjects = [line.text for line in draft.lines if line.text.startswith("Subject")]
    assert subjects == ["Subject: level 5", "Subject: level 4", "Subject: level 3"]
    assert any("deep" in warning for warning in draft.warnings)


def test_deeply_nested_parts_do_not_break_the_reader() -> None:
    head, tail = b"From: a@b.test\nSubject: deep\n", b""
    for number in range(400):
        head += b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (number, number)
        tail = b"\n--b%d--" % number + tail
    data = head + b"Content-Type: text/plain\n\nwords" + tail
    assert _outcome(data) in ("read", "corrupt")


def test_too_many_parts_are_counted_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "MAX_PARTS", 3)
    message = _message()
    for number in range(5):
        _attach(message, b"words", f"{number}.txt")
    draft = _draft(message)
    assert sum(line.text == "words" for line in draft.lines) == 2
    assert any("left out" in warning for warning in draft.warnings)


@pytest.mark.parametrize("name", ["../../etc/passwd.txt", "C:\\temp\\passwd.txt", "/abs/passwd.txt"])
def test_names_of_attachments_are_no_paths(name: str) -> None:
    message = _message()
    _attach(message, b"words", name)
    assert "Attachment: passwd.txt" in [entry.title for entry in _draft(message).toc]


def test_what_is_no_message_is_refused() -> None:
    for data in (b"", b"just words", b"X-Only: this\n\nwords"):
        with pytest.raises(ParseFailure) as failure:
            draft_of_mail(data, limits=ParseLimits())
        assert failure.value.code == "corrupt"


def _outcome(data: bytes) -> str:
    try:
        draft_of_mail(data, limits=ParseLimits())
    except ParseFailure as failure:
        return failure.code
    return "read"


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    assert _outcome(b"Subject: x\n" + data) in ("read", "corrupt")


@given(st.text(max_size=200))
def test_any_charset_and_encoding_end_in_lines(word: str) -> None:
    data = f"Subject: =?{word}?q?x?=\nContent-Type: text/plain; charset={word}\n"
    data += f"Content-Transfer-Encoding: base64\n\n{word}"
    assert _outcome(b"From: a@b.test\n" + data.encode("utf-8", "replace")) in ("read", "corrupt")
