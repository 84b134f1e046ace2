"""The trail keeps what may name or quote a restricted document from those who may not see it."""

from __future__ import annotations

import pytest

from arbitration.contracts import Role
from tests.workbench.cast import Cast
from tests.workbench.review.signed import signed
from tests.workbench.scene import make_document, make_run
from workbench.accounts.models import User
from workbench.documents.models import Document
from workbench.documents.restricting import restriction_set
from workbench.exports.links import link_make, link_revoke
from workbench.labeling.models import SourceChoice
from workbench.labeling.services import label_of_candidate, label_retract
from workbench.trail.selectors import events_visible_to

pytestmark = pytest.mark.usefixtures("here")


def test_what_may_quote_a_restricted_document_is_kept_from_others(cast: Cast) -> None:
    document = make_document(collection=cast.alpha, owner=cast.analyst)
    run = make_run(asker=cast.analyst, document=document)
    other = make_document(
        collection=cast.alpha,
        owner=cast.analyst,
        name="leave.txt",
        text={"1 Leave": ["Staff get thirty days of leave."]},
    )
    open_run = make_run(asker=cast.analyst, document=other, text="How long is the leave?")
    for each in (run, open_run):
        signed(each)
        link, _token = link_make(actor=cast.reviewer, run=each, reason=f"Link to {each.pk}.", days=3)
        link_revoke(actor=cast.reviewer, link=link)
        label = label_of_candidate(
            candidate=each.candidates.first(), role=Role.PRIMARY, source=SourceChoice.LLM
        )
        label.judge_name = "test"
        label.save(force_insert=True)
        label_retract(label=label, by=cast.admin, reason=f"Label of {each.pk}.")
    reasons = {f"Link to {run.pk}.", f"Label of {run.pk}."}
    before = {person: _events(person) for person in (cast.auditor, cast.admin)}
    assert reasons <= {reason for _kind, reason in before[cast.auditor].values()}

    _restrict(cast, document)
    after = _events(cast.auditor)
    gone = {key: before[cast.auditor][key] for key in before[cast.auditor].keys() - after.keys()}
    assert reasons <= {reason for _kind, reason in gone.values()}
    assert {"run", "reportlink", "label", "export"} <= {kind for kind, _reason in gone.values()}
    for reason in (f"Link to {open_run.pk}.", f"Label of {open_run.pk}."):
        assert reason in {told for _kind, told in after.values()}
    assert before[cast.admin].keys() < _events(cast.admin).keys(), (
        "admins still read all, and what was restricted"
    )
    _restrict(cast, document, cast.auditor.pk)
    assert before[cast.auditor].keys() < _events(cast.auditor).keys()


def _events(person: User) -> dict[int, tuple[str, str]]:
    events = events_visible_to(person).values_list("pk", "object_type", "reason")
    return {key: (kind, reason) for key, kind, reason in events}


def _restrict(cast: Cast, document: Document, *readers: int) -> None:
    restriction_set(actor=cast.admin, document=document, readers=readers, reason="An investigation.")
