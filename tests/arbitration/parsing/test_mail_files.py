"""The attachments of a mail: all of them under their names, and a sender who makes a mail long gains nothing."""

from __future__ import annotations

import json
import time
from email.message import EmailMessage
from pathlib import Path

import pytest

from arbitration.errors import ParseFailure
from arbitration.parsing import isolation, mail_files
from arbitration.parsing.isolation import ParseLimits, split_mail

_LIMITS = ParseLimits(wall_s=30.0, cpu_s=20)


def _mail(*attachments: tuple[str, bytes]) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["Subject"] = "Ana <ana@example.test>", "Año"
    message["Date"] = "Tue, 24 Nov 2026 10:00:00 +0000"
    message.set_content("See attached.")
    for name, data in attachments:
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message


def _code(data: bytes, most: int = 100) -> str:
    with pytest.raises(ParseFailure) as failure:
        mail_files.files_of(data, most=most, room=1000)
    assert len(failure.value.message) > 20
    return failure.value.code


def test_attachments_come_out_in_their_order_and_in_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mail"
    inner = _mail(("inside.txt", b"deep"))
    message = _mail(("a.txt", b"one"), ("señal.txt", b"two two two two"), ("c.txt", b"three"))
    message.add_attachment(inner)
    path.write_bytes(bytes(message))
    monkeypatch.setattr(isolation, "_UNPACK_TOGETHER", 10)
    found = split_mail(path=path, most=100, limits=_LIMITS)
    assert found.facts["subject"] == "Año"
    assert found.facts["from"] == "Ana <ana@example.test>"
    assert found.facts["date"].startswith("Tue, 24 Nov 2026")
    files = list(found.files)
    assert [(file.name, file.content) for file in files[:3]] == [
        ("a.txt", b"one"),
        ("señal.txt", b"two two two two"),
        ("c.txt", b"three"),
    ]
    assert b"inside.txt" in files[3].content
    assert (files[4].name, files[4].content.strip()) == ("inside.txt", b"deep")


def test_a_mail_without_attachments_has_no_files(tmp_path: Path) -> None:
    path = tmp_path / "mail"
    for raw in (bytes(_mail()), b"\xff\xfe", b"Content-Type: multipart/mixed; boundary=\r\n\r\n--\r\n"):
        path.write_bytes(raw)
        assert list(split_mail(path=path, most=100, limits=_LIMITS).files) == []


def test_too_many_attachments_or_parts_are_counted_before_they_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = bytes(_mail(*((f"{number}.txt", b"x") for number in range(4))))
    monkeypatch.setattr(mail_files, "payload_of", lambda _part: pytest.fail("it was decoded"))
    assert _code(many, most=3) == "too_many"
    monkeypatch.setattr(mail_files, "MAX_PARTS", 4)
    assert _code(many) == "too_large"


def test_long_headers_are_cut_before_they_are_read() -> None:
    part = (
        b'--x\r\nContent-Disposition: attachment; filename="a.txt"' + b"; a=" * 40_000 + b"\r\n\r\ntext\r\n"
    )
    addresses = b"From: " + b"Ana <ana@example.test>, " * 20_000 + b"\r\n"
    data = addresses + b"Content-Type: multipart/mixed; boundary=x\r\n\r\n" + part * 20 + b"--x--\r\n"
    began = time.process_time()
    answer = mail_files.files_of(data, most=100, room=1000)
    assert time.process_time() - began < 5
    first = json.loads(answer.partition(b"\n")[0])
    assert [file["name"] for file in first["files"]] == ["a.txt"] * 20
    assert len(first["facts"]["from"]) <= 2000
