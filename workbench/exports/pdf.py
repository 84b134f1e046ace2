"""A record as PDF, set by Typst: tagged for screen readers, searchable, fonts inside.

Everything a document or a person wrote goes in as data and is placed as plain text: nothing of it is markup.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from workbench.direction import shown

from .blocks import Figure, Report, Section

#: Accessible PDF (ISO 14289-1). A text in a script that no font at hand covers cannot claim it.
_STANDARD = "ua-1"
#: What XML and PDF text cannot hold; the rest of Unicode may stand in a record.
_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127))


def report_pdf(report: Report) -> bytes:
    """The file; where a character has no glyph, without the claim of full accessibility."""
    import typst  # a large library, wanted only by the worker that makes exports

    with TemporaryDirectory() as folder:
        root = Path(folder)
        content = _content(report, root)
        (root / "record.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        (root / "record.typ").write_bytes(files(__package__).joinpath("record.typ").read_bytes())
        try:
            return bytes(typst.compile(root / "record.typ", root=root, pdf_standards=[_STANDARD]))
        except typst.TypstError:
            return bytes(typst.compile(root / "record.typ", root=root))


def _content(report: Report, root: Path) -> dict[str, Any]:
    """The report as JSON; images become files beside it."""
    content = {
        "kicker": report.kicker,
        "title": report.title,
        "language": report.language,
        "facts": asdict(report.facts),
        "sections": [_section(section, root) for section in report.sections],
        "footer": report.footer,
        "annex_title": report.annex_title,
        "annex": [_section(section, root) for section in report.annex],
    }
    return dict(_clean(content))


def _section(section: Section, root: Path) -> dict[str, Any]:
    blocks = []
    for block in section.blocks:
        if not isinstance(block, Figure):
            blocks.append(asdict(block))
            continue
        name = f"{block.anchor}.jpg"
        (root / name).write_bytes(block.image)
        known = {"anchor": block.anchor, "caption": block.caption, "is_clip": block.is_clip}
        blocks.append({"kind": block.kind, "image": name} | known)
    return {"title": section.title, "blocks": blocks}


def _clean(value: Any) -> Any:
    match value:
        case str():
            return shown(value.translate(_CONTROLS))
        case dict():
            return {key: _clean(item) for key, item in value.items()}
        case list() | tuple():
            return [_clean(item) for item in value]
        case _:
            return value
