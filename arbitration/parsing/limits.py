"""Limits under which one file is parsed or one page is rendered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from arbitration.errors import ParseFailure

ImageFormat = Literal["png", "webp"]
_MEBI = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """What one file may cost. Exceeding any of them is a :class:`~arbitration.errors.ParseFailure`.

    ``memory_bytes`` bounds the child's address space, ``cpu_s`` its processor time and ``wall_s`` the time by
    the clock, start-up included; ``max_output_bytes`` bounds what the parent reads from the child. Text recognition
    has a child of its own for each page, with ``ocr_page_s`` seconds of processor time, and ``ocr_wall_s`` seconds by
    the clock for all pages of a file, of which at most ``max_ocr_pages`` are read. ``max_headings``, ``max_lines`` and
    ``max_passages`` bound what the document comes to: a file of a megabyte can hold a hundred thousand of each, and
    all are stored and embedded.
    """

    max_bytes: int = 200 * _MEBI
    max_pages: int = 3000
    max_characters: int = 20_000_000
    max_headings: int = 10_000
    max_lines: int = 300_000
    max_passages: int = 40_000
    memory_bytes: int = 2048 * _MEBI
    cpu_s: int = 120
    wall_s: float = 180.0
    max_output_bytes: int = 512 * _MEBI
    max_pixels: int = 16_000_000
    max_ocr_pages: int = 300
    ocr_page_s: int = 60
    ocr_wall_s: float = 1200.0


def within(limits: ParseLimits, size: int) -> None:
    """Raises ParseFailure (``too_large``) for a file of more bytes than are read."""
    if size > limits.max_bytes:
        raise ParseFailure(
            "too_large",
            f"The file has {size / 1e6:.0f} MB; at most {limits.max_bytes / 1e6:.0f} MB are read. Split it.",
        )
