"""Evidence that people add, new versions of stale answers, receipts, and running again to compare."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import queries_of
from tests.workbench.review.signed import signed
from tests.workbench.scene import Scene, make_document, make_run
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.labeling.models import Label
from workbench.review import rerun
from workbench.review.candidates import candidates_of
from workbench.review.evidence import evidence_add
from workbench.review.models import ItemState, QueueItem, Regeneration, RegenerationState, ReviewAction
from workbench.review.receipts import receipt_of
from workbench.review.record import canonical, record_digest
from workbench.review.regeneration import (
    answer_regenerate,
    regeneration_carry_out,
    regenerations_to_wake,
)
from workbench.review.results import run_audit, run_result
from workbench.runs.models import Answer, Candidate, Run


def add(cast: Cast, run: Run, **changed: Any) -> Candidate:
    """Lines 2 and 3 of the only page: the policy's purpose."""
    given = {
        "actor": cast.reviewer,
        "run": run,
        "document": run.question.document,
        "first": (1, 2),
        "last": (1, 3),
        "role": "supporting",
        "reason": "It says which systems.",
    }
    return evidence_add(**(given | changed))


@pytest.fixture
def lost(cast: Cast, scene: Scene) -> Run:
    """A run that found nothing."""
    return make_run(asker=cast.analyst, document=scene.document, text="Which unicorns pay stamp duty?")


class TestAdding:
    def test_the_lines_are_a_candidate_with_a_persons_word(self, cast: Cast, scene: Scene) -> None:
        candidate = add(cast, scene.run)

        assert candidate.candidate_id == "p1_l2_l3"
        assert candidate.methods == ["human"]
        assert candidate.added_by == cast.reviewer
        assert candidate.text.anchor.startswith("This policy says")
        assert candidate.text.anchor in candidate.text.context
        (row,) = [r for r in run_result(scene.run).candidates if r.candidate_id == "p1_l2_l3"]
        assert row.role == "supporting"
        assert row.reason == "It says which systems."
        (provenance,) = [p for p in run_audit(scene.run).provenances if p.candidate_id == "p1_l2_l3"]
        assert provenance.methods_that_found_it == ["human"]
        assert provenance.llm_role is None

    def test_it_is_labelled_recorded_as_a_miss_and_marks_the_answer(self, cast: Cast, scene: Scene) -> None:
        candidate = add(cast, scene.run)

        assert Label.objects.get(candidate=candidate).role == "supporting"
        assert scene.run.answers.last().is_stale
        (event,) = AuditEvent.objects.filter(action="evidence.added")
        assert event.after["retrieval_miss"] is True
        assert event.after["text_hash"] == candidate.text_hash
        assert "This policy" not in str(event.after)

    def test_a_rejected_passage_leaves_the_answer(self, cast: Cast, scene: Scene) -> None:
        add(cast, scene.run, role="discarded")
        assert not scene.run.answers.last().is_stale

    def test_pointing_at_lines_refutes_a_not_found(self, cast: Cast, lost: Run) -> None:
        candidate = add(cast, lost, role="primary")

        item = QueueItem.objects.get(run=lost, candidate__isnull=True)
        assert item.state == ItemState.DECIDED
        review = lost.reviews.get(candidate__isnull=True)
        assert review.action == ReviewAction.REFUTE_NOT_FOUND
        assert review.comment == candidate.candidate_id
        result = run_result(Run.objects.get(pk=lost.pk))
        assert not result.not_found
        assert [row.candidate_id for row in result.candidates] == ["p1_l2_l3"]

    def test_the_ends_may_be_given_the_wrong_way_round(self, cast: Cast, scene: Scene) -> None:
        assert add(cast, scene.run, first=(1, 3), last=(1, 2)).candidate_id == "p1_l2_l3"

    @pytest.mark.parametrize(
        ("changed", "code"),
        [
            ({"role": "king"}, "role_unknown"),
            ({"reason": " "}, "reason_missing"),
            ({"last": (1, 99)}, "no_line"),
            ({"first": (2, 1), "last": (2, 1)}, "no_line"),
        ],
    )
    def test_refusals(self, cast: Cast, scene: Scene, changed: dict[str, Any], code: str) -> None:
        with pytest.raises(WorkbenchError) as refused:
            add(cast, scene.run, **changed)
        assert refused.value.code == code
        assert not Candidate.objects.filter(added_by__isnull=False).exists()

    def test_never_twice_never_elsewhere_never_signed(self, cast: Cast, scene: Scene) -> None:
        add(cast, scene.run)
        with pytest.raises(Conflict, match="candidate already"):
            add(cast, scene.run, actor=cast.second_reviewer)
        other = make_document(collection=cast.alpha, owner=cast.analyst, name="other.txt")
        with pytest.raises(WorkbenchError, match="not among those"):
            add(cast, scene.run, document=other, first=(1, 4), last=(1, 4))
        signed(scene.run, cast.reviewer)
        with pytest.raises(Conflict, match="signed"):
            add(cast, scene.run, first=(1, 4), last=(1, 4))

    @pytest.mark.parametrize("who", ["analyst", "annotator", "admin", "auditor"])
    def test_only_reviewers(self, cast: Cast, scene: Scene, who: str) -> None:
        with pytest.raises(NotAllowed):
            add(cast, scene.run, actor=cast.members[who])


class TestANewAnswer:
    def test_both_versions_stay_and_the_new_one_rests_on_the_persons_lines(
        self, cast: Cast, lost: Run
    ) -> None:
        add(cast, lost, role="primary")
        first = lost.answers.get()
        regeneration = answer_regenerate(actor=cast.reviewer, run=lost)
        regeneration_carry_out(regeneration_id=regeneration.pk)
        regeneration_carry_out(regeneration_id=regeneration.pk)  # a second message changes nothing

        old, new = lost.answers.order_by("version")
        assert (old.pk, old.is_stale, new.version, new.is_stale) == (first.pk, True, 2, False)
        cited = {c["candidate_id"] for s in new.body["sentences"] for c in s["citations"]}
        assert cited == {"p1_l2_l3"}
        regeneration.refresh_from_db()
        assert regeneration.state == RegenerationState.DONE
        assert AuditEvent.objects.filter(action="answer.regenerated").count() == 1
        with pytest.raises(Conflict, match="current evidence"):
            answer_regenerate(actor=cast.reviewer, run=lost)

    def test_one_at_a_time_and_a_lost_message_is_found(self, cast: Cast, scene: Scene) -> None:
        add(cast, scene.run)
        first = answer_regenerate(actor=cast.reviewer, run=scene.run)
        assert answer_regenerate(actor=cast.analyst, run=scene.run) == first
        assert regenerations_to_wake() == []
        from datetime import timedelta

        from django.db.models.functions import Now

        Regeneration.objects.update(created_at=Now() - timedelta(minutes=1))
        assert regenerations_to_wake() == [first.pk]

    def test_a_decision_meanwhile_leaves_the_new_answer_stale(
        self, cast: Cast, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from workbench.review import regeneration as module

        add(cast, scene.run)
        made = answer_regenerate(actor=cast.reviewer, run=scene.run)
        write = module.write_answer

        def slowly(**given: Any) -> Any:
            add(cast, scene.run, first=(1, 4), last=(1, 4))
            return write(**given)

        monkeypatch.setattr(module, "write_answer", slowly)
        regeneration_carry_out(regeneration_id=made.pk)
        assert scene.run.answers.last().version == 2
        assert scene.run.answers.last().is_stale

    def test_a_run_signed_meanwhile_takes_none(self, cast: Cast, scene: Scene) -> None:
        add(cast, scene.run)
        made = answer_regenerate(actor=cast.reviewer, run=scene.run)
        signed(scene.run, cast.reviewer)
        regeneration_carry_out(regeneration_id=made.pk)
        made.refresh_from_db()
        assert made.state == RegenerationState.FAILED
        assert Answer.objects.filter(run=scene.run).count() == 1

    def test_who_may(self, cast: Cast, scene: Scene) -> None:
        add(cast, scene.run)
        for actor in (cast.annotator, cast.auditor, cast.outsider):
            with pytest.raises(NotAllowed):
                answer_regenerate(actor=actor, run=scene.run)
        assert answer_regenerate(actor=cast.analyst, run=scene.run).pk


class TestReceipts:
    def test_everything_by_hash_and_nothing_by_word(self, cast: Cast, scene: Scene) -> None:
        (decided,) = [row for row in candidates_of(scene.run) if row.reviews.all()]
        receipt = receipt_of(decided)

        assert receipt["verdict"]["role"] == decided.verdict.role
        assert receipt["document"]["sha256"] == scene.document.sha256
        assert set(receipt["detectors"]) == set(decided.methods)
        assert [row["action"] for row in receipt["decisions"]] == ["approve"]
        body = {key: value for key, value in receipt.items() if key != "sha256"}
        assert receipt["sha256"] == record_digest(body)
        told = canonical(receipt)
        assert decided.verdict.reason not in told
        assert "twenty-four" not in told

    def test_page_and_file(self, cast: Cast, client_as: Any, scene: Scene) -> None:
        candidate = scene.run.candidates.first()
        scene.run.candidates.filter(pk=candidate.pk).update(features={"title_similarity": 0.25})
        client = client_as(cast.auditor)
        assert queries_of(client, f"/candidates/{candidate.pk}/receipt/") <= 15
        page = client.get(f"/candidates/{candidate.pk}/receipt/")
        assert "<dt>Similarity of title and question</dt><dd>0.2500</dd>" in page.content.decode()
        told = client.get(f"/candidates/{candidate.pk}/receipt.json").json()
        assert told["sha256"] in page.content.decode()
        assert client.get(f"/api/v1/candidates/{candidate.pk}/receipt/").json() == told


class TestAgain:
    def test_a_run_of_its_own_with_the_same_verdicts(self, cast: Cast, scene: Scene) -> None:
        again = finished(rerun.run_again(actor=cast.analyst, run=scene.run))

        assert again.pk != scene.run.pk
        rows = rerun.runs_compared(scene.run, again)
        assert rows
        assert not any(row.differs for row in rows)
        assert not any(row["differs"] for row in rerun.conditions_compared(scene.run, again))

    def test_what_changed_comes_first(self, cast: Cast, scene: Scene) -> None:
        again = finished(rerun.run_again(actor=cast.analyst, run=scene.run))
        from workbench.runs.models import Verdict

        changed = again.candidates.order_by("-verdict__order").first()
        Verdict.objects.filter(candidate=changed).update(
            role="supporting" if changed.verdict.role != "supporting" else "primary"
        )
        first = rerun.runs_compared(scene.run, again)[0]
        assert (first.candidate_id, first.differs) == (changed.candidate_id, True)

    def test_the_page(
        self, cast: Cast, client_as: Any, scene: Scene, django_assert_max_num_queries: Any
    ) -> None:
        client = client_as(cast.analyst)
        address = client.post(f"/runs/{scene.run.pk}/against/")["Location"]
        assert "has started" in client.get(address).content.decode()
        finished(Run.objects.order_by("-pk").first())
        with django_assert_max_num_queries(15):
            page = client.get(address)
        assert "Every verdict is the same." in page.content.decode()
        for bad in ("x", "9" * 30, "0"):
            assert client.get(f"/runs/{scene.run.pk}/against/?with={bad}").status_code == 404
        assert client_as(cast.auditor).post(f"/runs/{scene.run.pk}/against/", follow=True).status_code == 200
        assert Run.objects.filter(question__normalised=scene.run.question.normalised).count() == 3


def finished(run: Run) -> Run:
    """The run with its stages carried out here."""
    from workbench.runs.execution import run_answer, run_arbitrate, run_detect

    for stage in (run_detect, run_arbitrate, run_answer):
        stage(run_id=run.pk)
    return Run.objects.select_related("question__document", "collection").get(pk=run.pk)


class TestPages:
    def test_lines_become_evidence_by_a_plain_form(
        self, cast: Cast, client_as: Any, lost: Run, django_assert_max_num_queries: Any
    ) -> None:
        client = client_as(cast.reviewer)
        address = client.get(f"/runs/{lost.pk}/lines/")["Location"]
        with django_assert_max_num_queries(16):  # one of them asks whether a card of the run is hidden
            page = client.get(f"{address}?q=twenty-four")
        assert re.search(r'lines__item--hit[^"]*" id="p1-l5"', page.content.decode())
        fields = {"from_page": 1, "from_line": 5, "to_page": 1, "to_line": 5, "role": "primary"}
        assert client.post(address, fields).status_code == 422
        answer = client.post(address, fields | {"reason": "The term."}, follow=True)
        shown = answer.content.decode()
        assert "Evidence added by a person" in shown
        assert "Writing the answer from the decisions" in shown
        client.post(f"/runs/{lost.pk}/answer/")
        regeneration_carry_out(regeneration_id=Regeneration.objects.get().pk)
        shown = client.get(f"/runs/{lost.pk}/").content.decode()
        assert "The answer before, version 1" in shown
        assert "twenty-four months" in shown

    def test_nobody_else_gets_the_form(self, cast: Cast, client_as: Any, scene: Scene) -> None:
        for user in (cast.analyst, cast.auditor, cast.outsider):
            assert client_as(user).get(f"/runs/{scene.run.pk}/lines/").status_code == 404

    def test_a_question_of_all_documents_asks_which(self, cast: Cast, client_as: Any, scene: Scene) -> None:
        from workbench.runs.models import Question

        Question.objects.filter(pk=scene.run.question_id).update(document=None)
        page = client_as(cast.reviewer).get(f"/runs/{scene.run.pk}/lines/?q=polic").content.decode()
        assert f"/runs/{scene.run.pk}/lines/{scene.document.pk}/" in page


class TestApi:
    def test_evidence_answer_and_again(self, cast: Cast, client_as: Any, scene: Scene) -> None:
        client = client_as(cast.reviewer)
        run = f"/api/v1/runs/{scene.run.pk}"
        body = {
            "document": scene.document.pk, "page_start": 1, "line_start": 2, "page_end": 1, "line_end": 3,
            "role": "supporting", "reason": "Scope.",
        }  # fmt: skip
        made = client.post(f"{run}/evidence/", body, content_type="application/json")
        assert made.status_code == 201, made.json()
        assert made.json()["methods"] == ["human"]
        assert made.json()["effective_role"] == "supporting"
        assert client.post(f"{run}/answer/").status_code == 202
        assert client.post(f"{run}/again/").status_code == 201
        outside = client_as(cast.outsider)
        assert outside.post(f"{run}/evidence/", body, content_type="application/json").status_code == 404


def test_people_of_the_trail_are_right(cast: Cast, scene: Scene) -> None:
    add(cast, scene.run, actor=cast.second_reviewer)
    event = AuditEvent.objects.get(action="evidence.added")
    assert (event.actor, event.actor_kind) == (cast.second_reviewer, "person")
    assert isinstance(event.actor, User)
