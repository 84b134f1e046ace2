"""The demo's regulation and contract as files: a real PDF with an outline, and a text."""

from __future__ import annotations

from pathlib import Path

from workbench.operations.demo.library import DEMO_DOCUMENTS

REGULATION, CONTRACT = "regulation.pdf", "contract.txt"
_SOURCES = {REGULATION: "regulation-on-client-records.pdf", CONTRACT: "master-services-agreement.txt"}


def write_demo_files(folder: Path) -> None:
    """Both files, under short names."""
    contents = {document.name: document.content for document in DEMO_DOCUMENTS}
    for name, source in _SOURCES.items():
        (folder / name).write_bytes(contents[source]())
