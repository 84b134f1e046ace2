"""A not-found and what people say of it."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import ClientAs
from workbench.runs.models import Run


def decide(client_as: ClientAs, user: object, run: Run, **data: object) -> str:
    address = reverse("review:not-found", args=[run.pk])
    return client_as(user).post(address, data, follow=True).content.decode()  # type: ignore[arg-type]


def test_the_page_says_what_was_searched(cast: Cast, client_as: ClientAs, not_found_run: Run) -> None:
    page = client_as(cast.auditor).get(not_found_run.get_absolute_url())
    assert page.context["is_absence_proved"] is True
    assert {term.lower() for term, count in page.context["searched"] if count == 0} >= {
        "cryptocurrency",
        "custody",
    }
    assert "None of these words, in any form" in page.content.decode()
    assert reverse("review:not-found", args=[not_found_run.pk]) not in page.content.decode()


def test_a_reviewer_confirms_it(cast: Cast, client_as: ClientAs, not_found_run: Run) -> None:
    page = decide(client_as, cast.reviewer, not_found_run, decision="confirm", comment="Checked the index.")
    assert "Not found confirmed" in page
    assert "Checked the index." in page
    assert not_found_run.queue_items.get(candidate__isnull=True).state == "decided"


def test_whoever_says_it_is_there_says_where(cast: Cast, client_as: ClientAs, not_found_run: Run) -> None:
    assert "Select the lines that answer" in decide(
        client_as, cast.reviewer, not_found_run, decision="refute"
    )
    page = decide(client_as, cast.reviewer, not_found_run, decision="refute", comment="Section 2, line 5.")
    assert "Not found refuted" in page
    assert "Section 2, line 5." in page


def test_signing_is_not_the_first_choice_before_it_is_decided(
    cast: Cast, client_as: ClientAs, not_found_run: Run
) -> None:
    first = f'button--primary" href="{reverse("review:sign", args=[not_found_run.pk])}"'
    page = client_as(cast.reviewer).get(not_found_run.get_absolute_url())
    assert first not in page.content.decode()
    assert first in decide(client_as, cast.reviewer, not_found_run, decision="confirm")


@pytest.mark.parametrize("decision", ["", "perhaps"])
def test_wrong_input_changes_nothing(
    decision: str, cast: Cast, client_as: ClientAs, not_found_run: Run
) -> None:
    page = decide(client_as, cast.reviewer, not_found_run, decision=decision)
    assert "Choose whether the answer is really not there." in page
    assert not not_found_run.reviews.exists()


def test_nobody_else_decides(cast: Cast, client_as: ClientAs, not_found_run: Run) -> None:
    for user in (cast.analyst, cast.auditor, cast.admin, cast.annotator):
        decide(client_as, user, not_found_run, decision="confirm")
    address = reverse("review:not-found", args=[not_found_run.pk])
    assert client_as(cast.outsider).post(address, {"decision": "confirm"}).status_code == 404
    assert not not_found_run.reviews.exists()


def test_whoever_decided_takes_it_back_and_nobody_else(
    cast: Cast, client_as: ClientAs, not_found_run: Run
) -> None:
    decide(client_as, cast.reviewer, not_found_run, decision="confirm")
    undo = reverse("review:not-found-undo", args=[not_found_run.pk])
    assert undo in client_as(cast.reviewer).get(not_found_run.get_absolute_url()).content.decode()
    assert undo not in client_as(cast.second_reviewer).get(not_found_run.get_absolute_url()).content.decode()
    page = client_as(cast.reviewer).post(undo, follow=True).content.decode()
    assert "Not found confirmed" not in page
    assert undo not in page
    assert not_found_run.queue_items.get(candidate__isnull=True).state == "waiting"
