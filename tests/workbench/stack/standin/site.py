"""The stand-in's page. STANDIN_BROKEN=web makes it fail to load."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

if os.environ.get("STANDIN_BROKEN") == "web":
    raise RuntimeError("the page is broken on purpose")


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answers every request."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"the stand-in's page"]
