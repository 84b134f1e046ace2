"""Bars by risk control in a collection: from its own blind decisions, put to use by an admin, for new runs alone."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction

from arbitration.contracts import Role
from arbitration.settings import EngineSettings
from tests.workbench.cast import Cast
from tests.workbench.scene import make_document, make_run
from training.bars import Decides, Measure
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.collection_settings.bars import bar_apply, bar_remove, bar_request, bars_in_use
from workbench.collection_settings.models import BarProposal, BarState, CollectionBar
from workbench.documents.models import Collection, Document
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.labeling.models import Label, SourceChoice
from workbench.labeling.services import label_of_candidate
from workbench.operations.bars import bar_compute, bar_propose, bars_compute, bars_to_wake, decided_runs
from workbench.review.models import QueueItem
from workbench.review.policy import policy_set
from workbench.review.services import candidate_approve, candidate_choose, candidate_override
from workbench.runs.models import Candidate, Run
from workbench.runs.services import cache_key

QUESTIONS = (
    "How long are access records kept?",
    "Which systems does this policy apply to?",
    "When does the period start?",
    "For how many years are payment records kept?",
    "What happens to records at the end of the period?",
    "Until when does a legal hold stop deletion?",
    "Within how many days are records deleted?",
    "Who holds client data?",
    "What is the day of the access?",
)


def settled(run: Run, person: User, *, role: Role = Role.PRIMARY, last: bool = False) -> Label:
    """An adjudicator settles the run's best candidate, or its last."""
    candidate = run.candidates.order_by("-position" if last else "position").first()
    assert candidate is not None
    label = label_of_candidate(candidate=candidate, role=role, source=SourceChoice.ADJUDICATED)
    label.person = person
    label.save(force_insert=True)
    return label


def decided(cast: Cast, number: int, *, collection: Collection | None = None) -> Document:
    """So many questions of a collection, each with its evidence settled."""
    asker = cast.analyst if collection is None else cast.outsider
    document = make_document(collection=collection or cast.alpha, owner=asker)
    for text in QUESTIONS[:number]:
        settled(make_run(asker=asker, document=document, text=text), cast.reviewer)
    return document


def proposed(cast: Cast, **changes: Any) -> BarProposal:
    given = {"decides": Decides.DISCARD, "promised": 0.1, "collection": cast.alpha} | changes
    return bar_propose(actor=cast.admin, tell=lambda done, total: None, **given)


def applied(cast: Cast, proposal: BarProposal, **changes: Any) -> CollectionBar:
    given = {
        "actor": cast.admin,
        "collection": cast.alpha,
        "seen_revision": 0,
        "reranker": "rules",
        "reason": "measured",
    }
    return bar_apply(proposal=proposal, **(given | changes))


class TestWhatCounts:
    def test_a_blind_decision_counts_and_one_in_sight_does_not(self, cast: Cast, here: None) -> None:
        document = make_document(collection=cast.alpha, owner=cast.analyst)
        policy_set(actor=cast.admin, collection=cast.alpha, blind_share=1, second_share=0)
        run = make_run(asker=cast.analyst, document=document)
        item = QueueItem.objects.filter(run=run, is_blind=True).select_related("candidate").earliest("pk")
        candidate_choose(actor=cast.reviewer, candidate=item.candidate, role="primary")
        policy_set(actor=cast.admin, collection=cast.alpha, blind_share=0, second_share=0)
        other = make_run(asker=cast.analyst, document=document, text="Who may read client data?")
        seen = other.candidates.filter(verdict__role__isnull=False).first()
        assert seen is not None
        candidate_approve(actor=cast.reviewer, candidate=seen)

        (only,) = decided_runs(collection=cast.alpha)

        assert only.run_id == run.pk
        assert only.roles == {item.candidate.candidate_id: True}

    def test_an_adjudicator_overrules_a_blind_decision(self, cast: Cast, here: None) -> None:
        document = make_document(collection=cast.alpha, owner=cast.analyst)
        policy_set(actor=cast.admin, collection=cast.alpha, blind_share=1, second_share=0)
        run = make_run(asker=cast.analyst, document=document)
        candidate = run.candidates.order_by("position").first()
        assert candidate is not None
        settled(run, cast.admin, role=Role.DISCARDED)
        candidate_choose(actor=cast.reviewer, candidate=candidate, role="primary")

        (only,) = decided_runs(collection=cast.alpha)

        assert only.roles == {candidate.candidate_id: False}

    def test_nothing_of_another_collection_is_read(self, cast: Cast, here: None) -> None:
        decided(cast, 2, collection=cast.beta)

        assert decided_runs(collection=cast.alpha) == []
        assert len(decided_runs(collection=cast.beta)) == 2

    def test_a_question_asked_again_is_one(self, cast: Cast, here: None) -> None:
        document = decided(cast, 2)
        settled(
            make_run(asker=cast.analyst, document=document, text=QUESTIONS[0], use_cache=False), cast.reviewer
        )

        curve = bar_compute(collection=cast.alpha, decides=Decides.DISCARD, promised=0.1).curve

        assert (curve.questions, curve.groups) == (3, 2)

    def test_what_the_model_learned_from_is_left_out(
        self, cast: Cast, here: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        decided(cast, 3)
        monkeypatch.setattr(
            "workbench.operations.bars._groups_learned",
            lambda served, sides: {sides.group(QUESTIONS[1])},
        )

        computed = bar_compute(collection=cast.alpha, decides=Decides.DISCARD, promised=0.1)

        assert (computed.learned, computed.curve.groups) == (1, 2)


class TestComputing:
    def test_the_bar_that_keeps_the_promise_is_proposed_with_its_effect(self, cast: Cast, here: None) -> None:
        decided(cast, 9)

        proposal = proposed(cast)

        assert (proposal.groups, proposal.needed) == (9, 9)
        assert proposal.bar is not None
        way = next(way for way in proposal.ways if way["bar"] == proposal.bar)
        assert way["bound"] <= 0.1
        assert way["lost"] == 0
        assert [way["cards"] for way in proposal.ways] == sorted(way["cards"] for way in proposal.ways)
        event = AuditEvent.objects.get(action="risk.computed")
        assert (event.after["bar"], event.after["questions"]) == (proposal.bar, 9)

    def test_with_too_few_questions_nothing_is_proposed_and_the_default_stays(
        self, cast: Cast, here: None
    ) -> None:
        decided(cast, 3)

        proposal = proposed(cast, promised=0.05)

        assert proposal.bar is None
        assert (proposal.groups, proposal.needed) == (3, 19)
        with pytest.raises(WorkbenchError, match="16 more questions must be decided blind") as refused:
            applied(cast, proposal)
        assert refused.value.code == "no_bar"
        assert not CollectionBar.objects.exists()

    def test_accepting_has_a_promise_of_its_own(self, cast: Cast, here: None) -> None:
        document = make_document(collection=cast.alpha, owner=cast.analyst)
        for text in QUESTIONS[:9]:
            settled(
                make_run(asker=cast.analyst, document=document, text=text),
                cast.reviewer,
                role=Role.DISCARDED,
            )

        proposal = proposed(cast, decides=Decides.ACCEPT, promised=0.2)

        assert proposal.measure == Measure.ESTIMATE
        assert proposal.groups == 9
        lost = [way["lost"] for way in proposal.ways]
        assert lost == sorted(lost, reverse=True)

    @pytest.mark.parametrize("promised", [0.0, 0.005, 0.51, 1.0])
    def test_a_share_out_of_range_is_refused(self, promised: float, cast: Cast) -> None:
        with pytest.raises(WorkbenchError):
            bar_request(actor=cast.admin, collection=cast.alpha, decides="discard", promised=promised)
        assert not BarProposal.objects.exists()

    @pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator", "auditor", "staff"])
    def test_only_an_admin_states_a_risk(self, name: str, cast: Cast) -> None:
        with pytest.raises(NotAllowed):
            bar_request(actor=getattr(cast, name), collection=cast.alpha, decides="discard", promised=0.1)

    def test_a_worker_computes_what_was_asked_for_once(self, cast: Cast, here: None) -> None:
        decided(cast, 9)
        asked = bar_request(actor=cast.admin, collection=cast.alpha, decides="discard", promised=0.1)
        with pytest.raises(Conflict):
            bar_request(actor=cast.admin, collection=cast.alpha, decides="discard", promised=0.2)

        bars_compute(proposal_id=asked.pk)
        bars_compute(proposal_id=asked.pk)

        asked.refresh_from_db()
        assert (asked.state, asked.done, asked.total) == (BarState.READY, 9, 9)
        assert asked.bar is not None
        assert AuditEvent.objects.filter(action="risk.computed").count() == 1
        assert AuditEvent.objects.get(action="risk.requested").after == {
            "decides": "discard",
            "promised": 0.1,
        }

    def test_an_error_ends_it_with_a_reason(
        self, cast: Cast, here: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = bar_request(actor=cast.admin, collection=cast.alpha, decides="discard", promised=0.1)

        def broken(**given: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr("workbench.operations.bars.bar_compute", broken)
        with pytest.raises(ZeroDivisionError):
            bars_compute(proposal_id=asked.pk)

        asked.refresh_from_db()
        assert asked.state == BarState.FAILED
        assert "ZeroDivisionError" in asked.failure

    def test_the_sweeper_finds_what_no_worker_took(self, cast: Cast) -> None:
        asked = bar_request(actor=cast.admin, collection=cast.alpha, decides="discard", promised=0.1)
        assert bars_to_wake() == []
        BarProposal.objects.update(created_at="2026-01-01T00:00:00Z")
        assert bars_to_wake() == [asked.pk]


class TestUsing:
    def test_new_runs_use_it_and_earlier_ones_stay(self, cast: Cast, here: None) -> None:
        document = decided(cast, 9)
        earlier = Run.objects.latest("pk")
        before = dict(earlier.settings)

        def key() -> str:
            return cache_key(collection=cast.alpha, document=document, text="Why?", strategy="offline")

        plain = key()
        proposal = proposed(cast)
        BarProposal.objects.filter(pk=proposal.pk).update(bar=0.02)
        proposal.refresh_from_db()
        applied(cast, proposal)

        assert proposal.measure == Measure.ESTIMATE
        assert key() != plain
        later = make_run(asker=cast.analyst, document=document, text="Who reads the policy aloud?")
        assert later.settings["rules_reject"] == 0.02
        earlier.refresh_from_db()
        assert earlier.settings == before
        assert before["rules_reject"] == EngineSettings().rules_reject
        other = make_document(collection=cast.beta, owner=cast.outsider)
        elsewhere = make_run(asker=cast.outsider, document=other)
        assert elsewhere.settings["rules_reject"] == EngineSettings().rules_reject

        row = bars_in_use(collection=cast.alpha).get()
        bar_remove(actor=cast.admin, collection=cast.alpha, bar=row.pk, seen_revision=1, reason="no more")
        assert key() == plain

    def test_it_is_on_record_with_before_and_after(self, cast: Cast, here: None) -> None:
        decided(cast, 9)
        first, second = proposed(cast), proposed(cast, promised=0.2)
        applied(cast, first)

        row = applied(cast, second, seen_revision=1)

        assert row.revision == 2
        event = AuditEvent.objects.filter(action="risk.applied").latest("id")
        assert (event.before["promised"], event.after["promised"]) == (0.1, 0.2)
        assert event.reason == "measured"

    def test_two_admins_do_not_overwrite_each_other_unseen(self, cast: Cast, here: None) -> None:
        decided(cast, 9)
        proposal = proposed(cast)
        row = applied(cast, proposal)
        with pytest.raises(Conflict):
            applied(cast, proposal)
        with pytest.raises(Conflict):
            bar_remove(actor=cast.admin, collection=cast.alpha, bar=row.pk, seen_revision=7, reason="no")

    def test_a_bar_of_another_collection_or_model_is_refused(self, cast: Cast, here: None) -> None:
        decided(cast, 9)
        proposal = proposed(cast)
        with pytest.raises(WorkbenchError, match="another collection"):
            bar_apply(
                actor=cast.outsider,
                collection=cast.beta,
                proposal=proposal,
                seen_revision=0,
                reranker="rules",
            )
        with pytest.raises(WorkbenchError, match="Another model"):
            applied(cast, proposal, reranker="v3:abc")
        with pytest.raises(NotAllowed):
            applied(cast, proposal, actor=cast.reviewer)
        assert not CollectionBar.objects.exists()

    @pytest.mark.parametrize(
        "wrong", [{"bar": -0.1}, {"bar": 1.5}, {"measure": "nearest", "bar": 0}], ids=str
    )
    def test_the_database_keeps_the_range_too(self, wrong: dict[str, Any], cast: Cast, here: None) -> None:
        decided(cast, 9)
        applied(cast, proposed(cast))
        with pytest.raises(IntegrityError), transaction.atomic():
            CollectionBar.objects.update(**wrong)


def test_the_command_says_the_same_as_json(cast: Cast, here: None) -> None:
    decided(cast, 9)
    candidate = Candidate.objects.filter(verdict__role__in=["tangential", "discarded"]).earliest("pk")
    candidate_override(actor=cast.reviewer, candidate=candidate, role="primary", reason_code="wrong_role")
    out = StringIO()

    call_command("calibrate", "--collection", "alpha", "--promise", "10", "--json", stdout=out)

    value = json.loads(out.getvalue())
    discard = value["risk"]["discard"]
    assert (discard["promised"], discard["questions"], discard["needed"], discard["missing"]) == (
        0.1,
        9,
        9,
        0,
    )
    assert discard["bar"] == BarProposal.objects.get(pk=discard["proposal"]).bar
    assert {"bar", "lost", "bound", "cards"} <= set(discard["ways"][0])
    assert value["applied"] is False
    assert not CollectionBar.objects.exists()
