"""What a model's endpoint may do wrong, by the names of the fake server, and what the ledger must say of it."""

from __future__ import annotations

#: Faults after which no answer can be used, whatever was asked, and the outcome the ledger gives them.
UNANSWERED = {
    "hang": "timeout",
    "drop": "connection",
    "half_body": "connection",
    "html_page": "unparseable",
    "rate_limit": "rate_limited",
    "server_error": "server_error",
    "refusal": "refused",
    "empty": "unparseable",
}
#: Those among them after which no tokens were counted, so that nothing may be charged.
NOT_CHARGED = ("hang", "drop", "rate_limit", "server_error")
#: Faults of the answer itself: what they amount to depends on what was asked for.
BENT = ("cut_off", "wrong_schema", "not_json", "refusal_text")
#: Faults of the candidates' ids.
ABOUT_IDS = ("invented_ids", "missing_ids", "repeated_ids")
#: Strategies whose answers name candidates; the others ask about one candidate at a time.
SPEAK_OF_IDS = ("arbiter", "pointwise", "multi-criteria", "multi-criteria-2")
#: Seconds that a call may take in the product under test.
TIMEOUT_S = 2
#: A call that takes longer than its time-out plus this was not ended by it. Machines are slow at times.
MARGIN_MS = 20_000
