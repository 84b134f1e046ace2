"""Example context for ``templates/styleguide.html``: every component of the design system, in every state.

The text (``styleguide.json``) is our own. The view of development and the tests render from the same values.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from django.contrib.messages import ERROR, SUCCESS
from django.contrib.messages.storage.base import Message
from django.templatetags.static import static

from workbench.review.models import ReasonCode

_TIMES = frozenset({"at", "added_at"})


def example_context() -> dict[str, Any]:
    """Everything the style guide shows; a fresh value on every call."""
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    context: dict[str, Any] = json.loads(text, object_hook=_timed)
    context["viewer"]["page"]["image_url"] = static("img/styleguide-page.svg")
    return context | {
        "messages": [
            Message(SUCCESS, "Recorded: discarded, because wrong passage."),
            Message(ERROR, "The card was decided by someone else meanwhile. Nothing was lost."),
        ],
        "blind_card": context["cards"][0] | {"dom_id": "c-blind", "override_url": "", "blind_url": "#blind"},
        "reason_choices": ReasonCode.choices,
    }


def _timed(record: dict[str, Any]) -> dict[str, Any]:
    return {
        name: datetime.fromisoformat(value) if name in _TIMES else value for name, value in record.items()
    }
