"""A question of a collection says which documents it could not search yet."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from tests.workbench.cast import Cast
from tests.workbench.scene import make_document
from workbench.accounts.models import User
from workbench.documents.models import Document, DocumentStatus
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.services import question_ask

ClientAs = Callable[[User | None], Client]


@pytest.mark.parametrize(
    ("status", "said"),
    [(DocumentStatus.PARSING, "1 document was still being read."), (DocumentStatus.READY, None)],
)
def test_what_was_still_being_read_is_said(
    cast: Cast, client_as: ClientAs, here: None, status: DocumentStatus, said: str | None
) -> None:
    make_document(collection=cast.alpha, owner=cast.analyst)
    other = make_document(collection=cast.alpha, owner=cast.analyst, name="other.txt")
    Document.objects.filter(pk=other.pk).update(status=status)
    run = question_ask(
        actor=cast.analyst,
        collection=cast.alpha,
        text="How long are access records kept?",
        strategy="offline",
    ).run
    for stage in (run_detect, run_arbitrate, run_answer):
        stage(run_id=run.pk)
    page = client_as(cast.analyst).get(f"/runs/{run.pk}/").content.decode()
    if said is None:
        assert "Not all documents were searched" not in page
    else:
        assert said in page
