"""Text recognition on the image of one page, with PP-OCR models that come with the ``rapidocr`` package.

Runs in a child process of its own, one page at a time; nothing is fetched.
"""

from __future__ import annotations

import logging
import os
import socket
from typing import Any

from arbitration.errors import ParseFailure
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.recognised import RecognisedLine
from arbitration.parsing.render import drawn_page

SCALE = 2.0  # pixels per point, 144 dpi: ten-point type gives lines of 25 pixels, enough for the models
_MIN_CONFIDENCE = 0.5
_SETTINGS: dict[str, object] = {
    "Global.use_cls": False,
    "Global.log_level": "error",
    "Global.text_score": _MIN_CONFIDENCE,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}


def recognise_here(
    source: bytes,
    *,
    page_num: int,
    limits: ParseLimits,
    password: str | None = None,
    filename: str = "page.pdf",
) -> list[RecognisedLine]:
    """Lines of a page (1-based) with their boxes and confidences, as the models find them.

    Raises what ``render.render_here`` raises, and ``ocr_unavailable`` where the models are not installed.
    """
    page = drawn_page(
        source, page_num=page_num, scale=SCALE, limits=limits, password=password, filename=filename
    )
    found = _engine()(page.pixels)
    if found.boxes is None or found.txts is None or found.scores is None:
        return []
    return [
        _line(text, corners, float(score), page.scale)
        for text, corners, score in zip(found.txts, found.boxes, found.scores, strict=True)
    ]


def _engine() -> Any:
    logging.disable(logging.INFO)
    # A library that comes along tries IPv6 when it is imported; in this process asking for the network is the end.
    socket.has_ipv6 = False
    # ONNX Runtime's Linux wheels send usage data to their maker unless they are told not to before they are loaded.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime
        from rapidocr import RapidOCR
    except ImportError as error:
        raise ParseFailure(
            "ocr_unavailable", "Text recognition is not installed here. Upload a PDF that has a text layer."
        ) from error
    onnxruntime.disable_telemetry_events()
    return RapidOCR(params=_SETTINGS)


def _line(text: str, corners: Any, score: float, scale: float) -> RecognisedLine:
    """A recognised line; ``corners`` holds four (x, y) in pixels."""
    across = [float(corner[0]) / scale for corner in corners]
    down = [float(corner[1]) / scale for corner in corners]
    return RecognisedLine(
        str(text),
        round(min(across), 2),
        round(min(down), 2),
        round(max(across), 2),
        round(max(down), 2),
        round(min(max(score, 0.0), 1.0), 4),
    )
