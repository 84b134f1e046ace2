"""Thresholds told by what they do."""

from __future__ import annotations

from workbench.collection_settings.models import GateProposal
from workbench.collection_settings.presenters import effect_words


def made(key: int, rejected: float, accepted: float, lost: float | None) -> GateProposal:
    return GateProposal(pk=key, rejected_share=rejected, accepted_share=accepted, evidence_lost=lost)


def test_a_proposal_says_what_it_does_and_what_changes() -> None:
    alone = effect_words(made(1, 0.42, 0.12, 0.008), None)
    assert alone == "Of 100 passages 42 are rejected and 12 accepted without a judge; 46 are read."
    against = effect_words(made(1, 0.42, 0.12, 0.008), made(2, 0.51, 0.12, 0.028))
    assert against == f"{alone} Compared with now, 9 more are read and 2.00 % less of the evidence is lost."
    assert effect_words(made(1, 0.42, 0.12, 0.008), made(2, 0.5, 0.1, None)) == alone
    assert effect_words(made(1, 0.42, 0.12, 0.008), made(1, 0.42, 0.12, 0.008)) == alone
