"""How long a text of a model may be: what is kept of it, and shown, has an end whatever the model sends.

A longer text is cut, not refused: a reason that runs on is still a reason, and throwing the reply away would leave
every passage of the call undecided. A reply that is longer as a whole than any of ours is asked to be is malformed.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator

#: Characters of one text: a reason, a counter-argument, a sentence of an answer, a criterion.
MOST_CHARACTERS = 4_000
#: Characters of a whole reply, thinking included. Twice what the longest reply that is asked for comes to.
MOST_OF_A_REPLY = 400_000
CUT = "…"


def capped(text: str) -> str:
    """The text, cut where it is too long; a mark says so."""
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - len(CUT)].rstrip()}{CUT}"


def capped_all(value: Any) -> Any:
    """A value read from JSON with every text in it cut."""
    if isinstance(value, str):
        return capped(value)
    if isinstance(value, list):
        return [capped_all(item) for item in value]
    if isinstance(value, dict):
        return {name: capped_all(item) for name, item in value.items()}
    return value


#: A field that holds a model's words, whichever way they come.
ModelText = Annotated[str, AfterValidator(capped)]
