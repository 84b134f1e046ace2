"""Which parser reads which office file, for the registry and for what is attached to messages."""

from __future__ import annotations

from typing import Literal

from arbitration.parsing.drafts import Draft
from arbitration.parsing.limits import ParseLimits

OfficeKind = Literal["docx", "xlsx", "pptx", "odt", "rtf"]


def draft_of_office(kind: OfficeKind, data: bytes, *, limits: ParseLimits, password: str | None) -> Draft:
    """The draft of an office file. Parsers are imported when first used."""
    match kind:
        case "docx":
            from arbitration.parsing.docx import draft_of_docx

            return draft_of_docx(data, limits=limits, password=password)
        case "xlsx":
            from arbitration.parsing.xlsx import draft_of_xlsx

            return draft_of_xlsx(data, limits=limits, password=password)
        case "pptx":
            from arbitration.parsing.pptx import draft_of_pptx

            return draft_of_pptx(data, limits=limits, password=password)
        case "odt":
            from arbitration.parsing.odt import draft_of_odt

            return draft_of_odt(data, limits=limits)
        case "rtf":
            from arbitration.parsing.rtf import draft_of_rtf

            return draft_of_rtf(data, limits=limits)
