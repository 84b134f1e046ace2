"""Small PDFs made for one test each; all wording is ours."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from reportlab.lib.pagesizes import letter
from reportlab.pdfgen.canvas import Canvas

from arbitration.parsing.drafts import Draft, DraftLine, FinishedDraft
from arbitration.parsing.finish import finish
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.pdf import draft_of_pdf

WIDTH, HEIGHT = letter
SENTENCES = (
    "The keeper of records stores each signed form in a locked room.",
    "Every quarter the office counts the forms and writes the number down.",
    "A missing form is searched for within five days of the count.",
    "When it is not found the head of the office reports the loss.",
    "Copies may be kept where the original has been damaged by water.",
    "No person may take a form home without leave in writing.",
    "Old forms are destroyed seven years after the last entry on them.",
    "The list of destroyed forms itself is kept for thirty years.",
)


class Sheet:
    """A canvas that counts from the top of the page."""

    def __init__(self, path: Path, **options: object) -> None:
        self.path = path
        self.canvas = Canvas(str(path), pagesize=letter, invariant=1, **options)

    def text(self, x: float, top: float, words: str, *, size: float = 10, font: str = "Helvetica") -> None:
        """Words with their baseline ``top`` points below the upper edge."""
        self.canvas.setFont(font, size)
        self.canvas.drawString(x, HEIGHT - top, words)

    def lines(
        self, x: float, top: float, rows: Sequence[str], *, pitch: float = 12, size: float = 10
    ) -> float:
        """Rows below each other; returns where the next one would go."""
        for row in rows:
            self.text(x, top, row, size=size)
            top += pitch
        return top

    def next_page(self) -> None:
        """Finish this page."""
        self.canvas.showPage()

    def save(self) -> Path:
        """Finish the file."""
        self.canvas.save()
        return self.path


def prose(count: int, *, words: int = 7) -> list[str]:
    """``count`` rows of running text of about ``words`` words each."""
    stream = " ".join(SENTENCES * 40).split()
    return [" ".join(stream[place * words : (place + 1) * words]) for place in range(count)]


def parsed(path: Path, **options: object) -> Draft:
    """The draft of a PDF, read in this process."""
    return draft_of_pdf(path, limits=ParseLimits(), **options)  # type: ignore[arg-type]


def finished(path: Path) -> FinishedDraft:
    """The finished draft of a PDF, read in this process."""
    return finish(parsed(path), limits=ParseLimits())


def texts(draft: Draft, *, page: int = 1, body: bool = False) -> list[str]:
    """Texts of the lines of one page in reading order."""
    return [line.text for line in draft.lines if line.page_num == page and (line.is_body or not body)]


def line_with(draft: Draft, words: str) -> DraftLine:
    """The only line that holds the words."""
    found = [line for line in draft.lines if words in line.text]
    assert len(found) == 1, f"{words!r} stands on {len(found)} lines"
    return found[0]


def raw_pdf(objects: Sequence[bytes]) -> bytes:
    """A PDF of the given object bodies, numbered from 1, the first being the catalog."""
    out = io.BytesIO()
    out.write(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%b\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    for place in places:
        out.write(b"%010d 00000 n \n" % place)
    out.write(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return out.getvalue()
