"""What the people of the demo ask in the month that it tells, and words of the passages that answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class MonthQuestion:
    """A question of the month. A passage that holds one of ``primary`` answers it; one of ``supporting`` belongs to
    it. Where there are none, nothing answers."""

    text: str
    primary: tuple[str, ...] = ()
    supporting: tuple[str, ...] = ()

    def truth(self, passage: str) -> str:
        """The role that a careful reader gives a passage."""
        words = " ".join(passage.split())
        if any(sign in words for sign in self.primary):
            return "primary"
        return "supporting" if any(sign in words for sign in self.supporting) else "discarded"


def _questions(of: str) -> tuple[MonthQuestion, ...]:
    rows = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))[of]
    return tuple(
        MonthQuestion(row["text"], tuple(row.get("primary", ())), tuple(row.get("supporting", ())))
        for row in rows
    )


#: Of the first collection, the insurer's contracts and policies.
DEMO_MONTH = _questions("contracts")
#: Of the second collection, claims.
CLAIMS_MONTH = _questions("claims")
#: The same rules, asked as clients ask: another office labelled these. Few words of them stand in the documents.
IN_CLIENTS_WORDS = _questions("in_clients_words")
