"""A card that waits again because a new version changed its text: it opens, can be decided, and tells no role."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from tests.workbench.cast import PASSWORD, Cast
from tests.workbench.documents.test_versions import SECOND
from tests.workbench.scene import make_document, make_run
from workbench.accounts.models import MemberRole, Membership, User
from workbench.documents.models import Document
from workbench.documents.versions import version_accept, version_offer
from workbench.errors import Conflict
from workbench.review.carry_over import anchors_carry_over
from workbench.review.models import CarriedState, ItemStage, ItemState, QueueItem
from workbench.review.policy import policy_set
from workbench.review.second import dispute_adjudicate, second_review_add
from workbench.review.services import candidate_approve, candidate_choose, candidate_unsure
from workbench.runs.models import Candidate

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def candidate(cast: Cast) -> Candidate:
    """The passage that the new version changes: decided blind, and by two people."""
    document = make_document(collection=cast.alpha, owner=cast.analyst)
    policy_set(actor=cast.admin, collection=cast.alpha, blind_share=1, second_share=1)
    run = make_run(asker=cast.analyst, document=document)
    found: Candidate = run.candidates.select_related("verdict", "run").get(section_title="2 Retention")
    candidate_choose(actor=cast.reviewer, candidate=found, role="primary")
    return found


@pytest.fixture
def people(cast: Cast) -> dict[str, User]:
    """Two more reviewers."""
    made = {}
    for name in ("third", "fresh"):
        made[name] = User.objects.create_user(f"{name}@example.org", PASSWORD, name=name)
        Membership.objects.create(user=made[name], collection=cast.alpha, role=MemberRole.REVIEWER)
    return made


def new_version(cast: Cast) -> Document:
    document = make_document(collection=cast.alpha, owner=cast.analyst, name="policy_v2.txt", text=SECOND)
    with transaction.atomic():
        version_offer(document_id=document.pk)
    version_accept(actor=cast.analyst, document=document)
    anchors_carry_over(document_id=document.pk)
    return document


@pytest.mark.parametrize("before", ["waits", "agreed", "disputed", "adjudicated"])
def test_it_opens_and_is_decided_anew(
    cast: Cast, candidate: Candidate, client_as: Any, people: dict[str, User], before: str
) -> None:
    if before != "waits":
        role = "primary" if before == "agreed" else "discarded"
        second_review_add(actor=cast.second_reviewer, candidate=candidate, role=role)
    if before == "adjudicated":
        dispute_adjudicate(actor=people["third"], candidate=candidate, role="primary", reason="It says so.")
    new_version(cast)
    item = QueueItem.objects.get(candidate=candidate)
    assert (item.state, item.stage) == (ItemState.WAITING, ItemStage.FIRST)
    for person in (cast.reviewer, cast.second_reviewer, *people.values()):
        assert client_as(person).get(f"/queue/{item.pk}/").status_code == 200

    def chosen(person: User) -> int:
        path = f"/api/v1/candidates/{candidate.pk}/choose/"
        given = {"role": "supporting"}
        return int(client_as(person).post(path, given, content_type="application/json").status_code)

    for refused in (candidate_unsure, candidate_approve):  # neither says who decided, nor takes it back
        with pytest.raises(Conflict) as error:
            refused(actor=people["fresh"], candidate=candidate)
        assert error.value.code == "blind_first"
    assert chosen(people["fresh"]) == 201
    item.refresh_from_db()
    assert (item.state, item.stage) == (ItemState.WAITING, ItemStage.SECOND)
    assert chosen(cast.second_reviewer) == 201
    item.refresh_from_db()
    assert item.state == ItemState.DECIDED


def test_no_page_of_versions_tells_a_hidden_decision(
    cast: Cast, candidate: Candidate, client_as: Any, people: dict[str, User]
) -> None:
    document = new_version(cast)
    item = QueueItem.objects.get(candidate=candidate)

    def told(person: User, path: str, name: str) -> list[tuple[object, object, object]]:
        rows = client_as(person).get(path).context[name]
        return [(row["row"].state, row["role"], row["by"]) for row in rows]

    versions = f"/documents/{document.pk}/versions/"
    whole = [(CarriedState.CHANGED, "primary", cast.reviewer)]
    for person in (cast.analyst, cast.reviewer):
        assert told(person, versions, "anchors") == whole
    for person in (cast.second_reviewer, people["fresh"]):
        assert told(person, versions, "anchors") == [(CarriedState.CHANGED, None, None)]
        assert told(person, f"/queue/{item.pk}/", "reopened") == [(CarriedState.CHANGED, None, None)]
    assert str(cast.reviewer) not in client_as(people["fresh"]).get(versions).text
    candidate_choose(actor=people["fresh"], candidate=candidate, role="primary")
    assert told(people["fresh"], versions, "anchors") == whole
