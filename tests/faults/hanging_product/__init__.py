"""An application that makes the product under test vulnerable again: the pattern of quotations that it once had.

``dev.py`` beside this file installs it. A reason of a hundred characters then holds a worker's interpreter for
ever: no thread of its process runs, no handler of a signal. Only so can it be seen that such a worker is freed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.apps import AppConfig

#: What hangs the pattern below.
REASON = "\" 'a" + "'bbbbbbbb" * 40
_BACKTRACKS = re.compile(r"(?<!\w)['‘](?P<single>[^'‘’\n]+(?:['’]\w+[^'‘’\n]*)*)['’](?!\w)")


def quotations(text: str) -> Iterator[tuple[int, int]]:
    """Quotations in single marks, as they were read before."""
    return (match.span("single") for match in _BACKTRACKS.finditer(text))


class HangingConfig(AppConfig):
    name = "tests.faults.hanging_product"
    label = "hanging"

    def ready(self) -> None:
        from arbitration import grounding

        grounding.quotations = quotations
