"""What a receipt says of the figures behind a verdict."""

from __future__ import annotations

from collections.abc import Callable

from django.test import Client

from arbitration.features import FEATURE_NAMES
from tests.workbench.cast import Cast
from tests.workbench.scene import make_document
from workbench.accounts.models import User
from workbench.review.feature_words import feature_words
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.services import question_ask

ClientAs = Callable[[User | None], Client]


def test_every_feature_has_words() -> None:
    words = [feature_words(name) for name in FEATURE_NAMES]
    assert not set(words) & set(FEATURE_NAMES)
    assert len(set(words)) == len(words)


def test_a_receipt_names_what_the_reranker_ranks_by(cast: Cast, here: None, client_as: ClientAs) -> None:
    document = make_document(collection=cast.alpha, owner=cast.analyst)
    run = question_ask(
        actor=cast.analyst,
        collection=cast.alpha,
        document=document,
        text="How long are access records kept?",
        strategy="offline",
    ).run
    for stage in (run_detect, run_arbitrate, run_answer):
        stage(run_id=run.pk)
    candidate = run.candidates.first()
    assert candidate is not None
    assert set(candidate.features) == set(FEATURE_NAMES)
    page = client_as(cast.auditor).get(f"/candidates/{candidate.pk}/receipt/").content.decode()
    assert "Closeness in meaning of the passages beside it" in page
    assert "neighbour_semantic" not in page.split("The whole receipt")[0]
    record = client_as(cast.auditor).get(f"/candidates/{candidate.pk}/receipt.json").json()
    assert record["features"] == candidate.features
