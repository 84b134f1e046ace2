"""Recognised lines as the text of a page, so that one layout serves native and recognised text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from arbitration.parsing.pdf_text import PageText, Run, Style, readable
from arbitration.parsing.recognised import RecognisedLine

_TALL = 1.5  # height over width from which a line of several characters stands upright
_SAME_SIZE = 0.25  # share by which the heights of lines of one type size differ on a scan
_LEADING = 0.8  # font size over the height of a recognised box
_DESCENT = 0.2


def page_of_lines(page_num: int, width: float, height: float, lines: Sequence[RecognisedLine]) -> PageText:
    """The page as if its text had been drawn where it was recognised, so that one layout serves both."""
    level = [line.y1 - line.y0 for line in lines if not _is_tall(line)]
    usual = median(level) if level else 10.0
    runs = [run for line in lines if (run := _run(line, usual)) is not None]
    return PageText(page_num, width, height, runs)


def _is_tall(line: RecognisedLine) -> bool:
    return len(line.text) > 1 and line.y1 - line.y0 > _TALL * (line.x1 - line.x0)


def _run(line: RecognisedLine, usual: float) -> Run | None:
    words = readable(line.text)
    if not words or line.x1 <= line.x0 or line.y1 <= line.y0:
        return None
    tall = _is_tall(line)
    extent = line.x1 - line.x0 if tall else line.y1 - line.y0
    if abs(extent - usual) <= _SAME_SIZE * usual:
        extent = (
            usual  # boxes around the same type differ by what the words hold: ascenders, commas, brackets
        )
    size = round(_LEADING * extent, 1)
    style = Style(math.pi / 2 if tall else 0.0, size, False, False, 0, None)
    baseline = line.y1 - _DESCENT * (line.y1 - line.y0)
    return Run(
        words, line.x0, line.y0, line.x1, line.y1, baseline, size, style, 0, confidence=line.confidence
    )
