"""The demo's documents: files in ``documents/`` as they are, and one PDF made from its source text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from .pdf import regulation_pdf

FOLDER = Path(__file__).resolve().parent / "documents"


@dataclass(frozen=True, slots=True)
class DemoDocument:
    """A document to upload, with what an analyst would write on its cover."""

    name: str
    document_type: str
    issuer: str
    jurisdiction: str
    effective_date: date
    tags: tuple[str, ...]
    make: Callable[[], bytes] | None = None

    def content(self) -> bytes:
        """The file's bytes, the same at every call."""
        return self.make() if self.make else (FOLDER / self.name).read_bytes()


def _regulation() -> bytes:
    return regulation_pdf((FOLDER / "regulation-on-client-records.source.txt").read_text(encoding="utf-8"))


DEMO_DOCUMENTS = (
    DemoDocument(
        "information-security-policy.md", "policy", "Calder & Voss Mutual", "Aldmoor", date(2025, 3, 1),
        ("security", "internal"),
    ),
    DemoDocument(
        "master-services-agreement.txt", "contract", "Calder & Voss Mutual", "Aldmoor", date(2024, 7, 1),
        ("tessellate", "outsourcing"),
    ),
    DemoDocument(
        "amendment-no-1.md", "contract", "Calder & Voss Mutual", "Aldmoor", date(2025, 9, 15),
        ("tessellate", "outsourcing", "amendment"),
    ),
    DemoDocument(
        "regulation-on-client-records.pdf", "regulation", "Financial Conduct Office of Aldmoor", "Aldmoor",
        date(2025, 1, 1), ("records", "retention"), make=_regulation,
    ),
    DemoDocument(
        "politica-de-teletrabajo.md", "policy", "Calder & Voss Mutual, Sucursal en España", "España",
        date(2025, 5, 1), ("personas", "interna"),
    ),
)  # fmt: skip
