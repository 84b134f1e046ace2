"""Lines that text recognition found on the image of a page. Light to import: every parser names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple


class RecognisedLine(NamedTuple):
    """A line with its box in points from the top left of the page as shown; ``confidence`` lies in 0..1."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    confidence: float


#: Lines by page number (1-based).
Recognised = Mapping[int, Sequence[RecognisedLine]]
NOTHING_RECOGNISED: Recognised = MappingProxyType({})
