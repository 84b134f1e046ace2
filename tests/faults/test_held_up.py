"""What one person or stranger does to hold everybody up: pages that take for ever to draw, requests that never end."""

from __future__ import annotations

import io
import socket
import time
from contextlib import ExitStack, closing
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest
from reportlab.pdfgen.canvas import Canvas

from tests.faults.state import document_ended, new_collection, upload
from tests.product import RunningProduct, eventually

pytestmark = [pytest.mark.integration, pytest.mark.faults]

#: Each path covers the page and is blended with all below it: a few kilobytes that draw for a minute.
PATHS, PAGES = 12_000, 3
#: Seconds; ordinary pages take a hundredth of it. A web thread that drew would need more.
AT_ONCE = 15.0


def page_bomb() -> bytes:
    body = io.BytesIO()
    canvas = Canvas(body)
    for number in range(1, PAGES + 1):
        canvas.drawString(72, 740, f"Page {number}: the fee is due within thirty days of receipt.")
        canvas.setFillAlpha(0.01)
        for _ in range(PATHS):
            path = canvas.beginPath()
            path.rect(0, 0, 612, 792)
            canvas.drawPath(path, fill=1, stroke=0)
        canvas.showPage()
    canvas.save()
    return body.getvalue()


def test_a_page_that_draws_for_ever_holds_nobody_up(product: RunningProduct) -> None:
    with closing(product.client("admin")) as reader, closing(product.client("auditor")) as somebody_else:
        answer = upload(reader, new_collection(reader, "bombs"), page_bomb(), "bomb.pdf")
        key = answer.json()["id"]
        assert document_ended(product, key) == "ready"
        for _ in range(10):
            for number in range(1, PAGES + 1):
                asked(reader, f"/documents/{key}/pages/{number}.png", 202)
            asked(somebody_else, "/", 200)
        page = asked(reader, f"/documents/{key}/", 200)
        assert "is being drawn" in page.text
        assert "within thirty days" in page.text
        attempts = (
            "SELECT state, attempts FROM documents_pagedrawing WHERE document_id = %s ORDER BY page_num"
        )
        eventually(lambda: product.rows(attempts, key)[0] == ("failed", 1), seconds=240)
        assert "Drawing this page takes too long." in asked(reader, f"/documents/{key}/", 200).text
        asked(reader, f"/documents/{key}/pages/1.png", 404)
        assert product.rows(attempts, key)[0] == ("failed", 1)


def asked(client: httpx.Client, path: str, status: int) -> httpx.Response:
    started = time.monotonic()
    answer = client.get(path)
    assert answer.status_code == status, path
    assert time.monotonic() - started < AT_ONCE, path
    return answer


@pytest.mark.parametrize(
    "half",
    [
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nlogin=",
        b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n"
        + b"x" * 2_000_000,
    ],
    ids=["headers", "body", "upload"],
)
def test_requests_that_never_end_hold_nobody_up(product: RunningProduct, half: bytes) -> None:
    where = urlsplit(product.address)
    with ExitStack() as stack:
        for _ in range(40):
            slow = stack.enter_context(
                socket.create_connection((where.hostname, where.port), timeout=AT_ONCE)
            )
            slow.setblocking(False)
            slow.send(half)
        with httpx.Client(base_url=product.address, timeout=AT_ONCE) as quick:
            for path in ("/healthz", "/readyz", "/accounts/login/"):
                asked(quick, path, 200)
