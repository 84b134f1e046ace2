"""Taking in a PDF of a hundred pages, end to end, beside nothing but its text and the vectors of the same passages.

The bare work is what no product can leave out: pypdfium2 gives the text of every page, ONNX Runtime the vectors of the
passages that the product made, on all cores. The product parses in a separate process, finds lines, columns, headings
and passages, and writes rows, vectors and their index.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from functools import partial

import numpy as np

from tests.bench.corpora import Language
from tests.bench.detection import new_corpus
from tests.bench.registry import Figure, Size, measurement

PAGES = 100
LINES_PER_PAGE = 44
WORDS_PER_LINE = 12
ROUNDS = {"quick": 2, "full": 4}


@measurement("ingest", needs_services=True)
def measure(size: Size) -> Iterator[Figure]:
    """The best of a few rounds that take turns, each with another document."""
    from workbench.documents.embedding import current_embedder

    current_embedder().embed(["The model is loaded."])
    collection = new_corpus().collection
    bare, whole, parsing, passages = [], [], [], 0
    for number in range(ROUNDS[size]):
        content = a_pdf(pages=PAGES, seed=number)
        spent, texts, stage = ingested(collection, content, f"synthetic-{number}.pdf")
        whole.append(spent)
        parsing.append(stage)
        bare.append(_bare(content, texts))
        passages = len(texts)
    beside = f"bare {min(bare):.1f} s, product {min(whole):.1f} s, {passages} passages"
    yield Figure(
        "ingest of 100 pages over the bare rate", min(bare) / min(whole), "x", 0.85, "at least", beside
    )
    yield Figure(
        "ingest of 100 pages", min(whole), "s", beside=f"of it parsing in its process {min(parsing):.1f} s"
    )
    yield Figure("pages a second", PAGES / min(whole), "1/s")


def ingested(collection: object, content: bytes, name: str) -> tuple[float, list[str], float]:
    """Seconds from the stored upload to ready, the passages, and seconds until the document was parsed."""
    from django.core.files.base import ContentFile

    from workbench.accounts.models import User
    from workbench.documents import ingest
    from workbench.documents.models import Document, DocumentStatus
    from workbench.documents.services import document_upload

    file = ContentFile(content, name=name)
    upload = document_upload(actor=User.objects.system(), collection=collection, file=file, name=name)
    started = time.perf_counter()
    parsed = []
    take_in = ingest._take_in

    def taken_in(*args: object, **kwargs: object) -> None:
        parsed.append(time.perf_counter() - started)
        take_in(*args, **kwargs)

    ingest._take_in = taken_in
    try:
        ingest.document_ingest(document_id=upload.document.pk)
    finally:
        ingest._take_in = take_in
    spent = time.perf_counter() - started
    document = Document.objects.get(pk=upload.document.pk)
    if document.status != DocumentStatus.READY:
        raise RuntimeError(f"the document should be ready: {document.failure_reason}")
    return spent, list(document.passages.order_by("ordinal").values_list("text", flat=True)), parsed[0]


def _bare(content: bytes, passages: list[str]) -> float:
    """Seconds of the text of every page by pypdfium2, and of the vectors of the passages."""
    import pypdfium2

    from workbench.documents.embedding import current_embedder

    started = time.perf_counter()
    document = pypdfium2.PdfDocument(content)
    for page in document:
        page.get_textpage().get_text_bounded()
    document.close()
    current_embedder().embed(passages)
    return time.perf_counter() - started


def a_pdf(*, pages: int, seed: int) -> bytes:
    """A PDF of full pages under numbered headings, written by hand: text in a standard font and nothing else."""
    language, rng = Language(), np.random.default_rng(seed)
    bodies = [_page_stream(language, rng, number) for number in range(1, pages + 1)]
    objects: list[bytes] = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>"
        % (b" ".join(b"%d 0 R" % (4 + 2 * n) for n in range(pages)), pages),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, body in enumerate(bodies):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * number)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(body), body))
    return _assembled(objects)


def _page_stream(language: Language, rng: np.random.Generator, number: int) -> bytes:
    draw = partial(language.drawn, rng)
    lines = [f"BT /F1 16 Tf 60 780 Td ({number} {language.text(draw(3)).title()}) Tj ET"]
    top = 750
    for line in range(LINES_PER_PAGE):
        words = language.text(draw(WORDS_PER_LINE))
        end = "." if line % 6 == 5 else ""
        lines.append(f"BT /F1 9 Tf 60 {top - 15 * line} Td ({words}{end}) Tj ET")
    return "\n".join(lines).encode("latin-1")


def _assembled(objects: list[bytes]) -> bytes:
    """A file with its table of offsets."""
    target, offsets = io.BytesIO(), []
    target.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, start=1):
        offsets.append(target.tell())
        target.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = target.tell()
    target.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    target.writelines(b"%010d 00000 n \n" % offset for offset in offsets)
    target.write(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return target.getvalue()
