"""Limits under which one file is parsed or one page is rendered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ImageFormat = Literal["png", "webp"]
_MEBI = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """What one file may cost. Exceeding any of them is a :class:`~arbitration.errors.ParseFailure`.

    ``memory_bytes`` bounds the child's address space, ``cpu_s`` its processor time and ``wall_s`` the time by
    the clock, start-up included; ``max_output_bytes`` bounds what the parent reads from the child. Text recognition
    has a child of its own for each page, with ``ocr_page_s`` seconds of processor time, and ``ocr_wall_s`` seconds by
    the clock for all pages of a file, of which at most ``max_ocr_pages`` are read.
    """

    max_bytes: int = 200 * _MEBI
    max_pages: int = 3000
    max_characters: int = 20_000_000
    memory_bytes: int = 2048 * _MEBI
    cpu_s: int = 120
    wall_s: float = 180.0
    max_output_bytes: int = 512 * _MEBI
    max_pixels: int = 16_000_000
    max_ocr_pages: int = 300
    ocr_page_s: int = 60
    ocr_wall_s: float = 1200.0
