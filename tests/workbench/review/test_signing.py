"""Signing: who, under which conditions, bound to what; and that nothing passes a signature by, whatever the way."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test import Client

from tests.workbench.cast import PASSWORD, Cast
from tests.workbench.pages.conftest import queries_of
from tests.workbench.review.signed import signed
from tests.workbench.scene import Scene
from workbench.audit.models import AuditEvent
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.review import signing
from workbench.review.models import ItemState, Reopening, Review, Signature
from workbench.review.record import canonical, record_digest, signed_record
from workbench.review.services import candidate_approve, candidate_override
from workbench.review.signing import run_reopen, run_sign, signature_holds
from workbench.runs.models import Answer, Candidate, ReviewState, Run, RunStatus


@pytest.fixture
def run(cast: Cast, scene: Scene) -> Run:
    """A run with everything required decided."""
    for item in scene.run.queue_items.filter(is_required=True, state=ItemState.WAITING):
        candidate_approve(actor=cast.reviewer, candidate=item.candidate)
    return Run.objects.get(pk=scene.run.pk)


def sign(cast: Cast, run: Run, **changed: Any) -> Signature:
    given = {
        "actor": cast.reviewer,
        "run": run,
        "password": PASSWORD,
        "meaning": "approved",
        "seen_sha256": record_digest(signed_record(run)),
    }
    return run_sign(**(given | changed))


class TestSigning:
    def test_name_time_and_meaning_are_bound_to_the_record(self, cast: Cast, run: Run) -> None:
        signature = sign(cast, run)

        run.refresh_from_db()
        assert run.review_state == ReviewState.SIGNED
        assert cast.reviewer.name in signature.signer_name
        assert signature.meaning == "approved"
        assert record_digest(signature.record) == signature.record_sha256
        assert signature_holds(signature=signature)
        (event,) = AuditEvent.objects.filter(action="run.signed")
        assert event.after["record_sha256"] == signature.record_sha256
        assert event.actor_id == cast.reviewer.pk

    def test_everything_required_must_be_decided(self, cast: Cast, scene: Scene) -> None:
        waiting = scene.run.queue_items.filter(is_required=True, state=ItemState.WAITING)
        assert waiting.exists()

        with pytest.raises(Conflict, match="must be decided") as refused:
            sign(cast, scene.run)
        assert refused.value.code == "undecided"
        assert not Signature.objects.exists()

    def test_a_wrong_password_signs_nothing_and_is_on_record(self, cast: Cast, run: Run) -> None:
        with pytest.raises(NotAllowed, match="not your password"):
            sign(cast, run, password="guess")
        assert not Signature.objects.exists()
        assert AuditEvent.objects.filter(action="signature.refused", actor=cast.reviewer).count() == 1

    def test_guessing_ends_after_five_times_even_with_the_right_one(self, cast: Cast, run: Run) -> None:
        for _ in range(signing.MOST_FAILURES):
            with pytest.raises(NotAllowed):
                sign(cast, run, password="guess")
        with pytest.raises(NotAllowed, match="Too many"):
            sign(cast, run)
        assert sign(cast, run, actor=cast.second_reviewer).signer == cast.second_reviewer

    def test_what_changed_while_it_was_read_is_not_signed(self, cast: Cast, run: Run) -> None:
        seen = record_digest(signed_record(run))
        candidate = run.candidates.exclude(verdict__role="discarded").first()
        candidate_override(
            actor=cast.reviewer, candidate=candidate, role="discarded", reason_code="duplicate"
        )
        with pytest.raises(Conflict, match="changed while you read"):
            sign(cast, run, seen_sha256=seen)

    @pytest.mark.parametrize("who", ["analyst", "annotator", "admin", "auditor"])
    def test_only_reviewers_of_the_collection(self, cast: Cast, run: Run, who: str) -> None:
        for actor in (cast.members[who], cast.outsider, cast.staff):
            with pytest.raises(NotAllowed):
                sign(cast, run, actor=actor)

    def test_twice_and_unfinished_and_without_meaning(self, cast: Cast, run: Run) -> None:
        with pytest.raises(WorkbenchError, match="means"):
            sign(cast, run, meaning="whatever")
        Run.objects.filter(pk=run.pk).update(status=RunStatus.ANSWERING)
        with pytest.raises(Conflict, match="finished"):
            sign(cast, run)
        Run.objects.filter(pk=run.pk).update(status=RunStatus.DONE)
        sign(cast, run)
        with pytest.raises(Conflict, match="already"):
            sign(cast, run)


class TestRecord:
    def test_it_holds_no_text(self, cast: Cast, run: Run) -> None:
        told = canonical(signed_record(run))
        assert "twenty-four" not in told
        assert "access records" not in told.lower()
        assert all(review.comment not in told for review in Review.objects.exclude(comment=""))

    def test_it_changes_with_a_decision_and_not_with_a_name(self, cast: Cast, run: Run) -> None:
        before = record_digest(signed_record(run))
        cast.reviewer.name = "Somebody Else"
        cast.reviewer.save(update_fields=["name"])
        assert record_digest(signed_record(Run.objects.get(pk=run.pk))) == before

        candidate = run.candidates.exclude(verdict__role="discarded").first()
        candidate_override(
            actor=cast.reviewer, candidate=candidate, role="discarded", reason_code="duplicate"
        )
        assert record_digest(signed_record(run)) != before

    def test_a_change_past_the_product_shows(self, cast: Cast, run: Run) -> None:
        signature = sign(cast, run)
        from workbench.runs.models import Verdict

        Verdict.objects.filter(candidate__run=run).update(reason="Rewritten afterwards.")
        assert not signature_holds(signature=Signature.objects.get(pk=signature.pk))


class TestReopening:
    def test_with_a_reason_and_the_signature_stays(self, cast: Cast, run: Run) -> None:
        signature = sign(cast, run)
        reopening = run_reopen(actor=cast.second_reviewer, run=run, reason=" A new amendment came. ")

        run.refresh_from_db()
        assert run.review_state == ReviewState.IN_REVIEW
        assert reopening.reason == "A new amendment came."
        assert Signature.objects.get().pk == signature.pk
        (event,) = AuditEvent.objects.filter(action="run.reopened")
        assert event.reason == reopening.reason
        assert sign(cast, run).pk != signature.pk

    def test_never_without_reason_right_or_signature(self, cast: Cast, run: Run) -> None:
        with pytest.raises(Conflict, match="not signed"):
            run_reopen(actor=cast.reviewer, run=run, reason="why")
        sign(cast, run)
        with pytest.raises(WorkbenchError, match="Say why"):
            run_reopen(actor=cast.reviewer, run=run, reason="  ")
        for actor in (cast.analyst, cast.auditor, cast.outsider):
            with pytest.raises(NotAllowed):
                run_reopen(actor=actor, run=run, reason="why")
        run_reopen(actor=cast.admin, run=run, reason="why")


class TestTheDatabase:
    """What no code can get past."""

    def test_a_signed_run_takes_no_row(self, cast: Cast, scene: Scene) -> None:
        run = scene.run
        candidate = run.candidates.filter(reviews__isnull=True).first()
        signed(run, cast.reviewer)
        copied = Candidate.objects.filter(pk=candidate.pk).values().get()
        attempts = [
            lambda: Review.objects.create(
                run=run, candidate=candidate, reviewer=cast.reviewer, action="approve", role="primary"
            ),
            lambda: Candidate.objects.create(**(copied | {"id": None, "candidate_id": "p9_l9_l9"})),
            lambda: Answer.objects.filter(run=run).update(is_stale=True),
            lambda: Answer.objects.create(run=run, version=9, body={}, evidence_hash=""),
        ]
        for attempt in attempts:
            with pytest.raises(IntegrityError, match="is signed"), transaction.atomic():
                attempt()

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE review_review SET role = 'discarded'",
            "DELETE FROM review_review",
            "UPDATE review_signature SET meaning = 'reviewed', signer_name = 'Nobody'",
            "DELETE FROM review_signature",
            "UPDATE review_reopening SET reason = 'Another'",
        ],
    )
    def test_decisions_and_signatures_are_kept(self, cast: Cast, scene: Scene, statement: str) -> None:
        first = signed(scene.run, cast.reviewer)
        Reopening.objects.create(signature=first, reopened_by=cast.reviewer, reason="Look again.")
        with (
            pytest.raises(DatabaseError, match="refused"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)

    def test_the_state_follows_the_signatures(self, cast: Cast, run: Run) -> None:
        with pytest.raises(IntegrityError, match="no standing signature"), transaction.atomic():
            Run.objects.filter(pk=run.pk).update(review_state=ReviewState.SIGNED)
        sign(cast, run)
        with pytest.raises(IntegrityError, match="standing signature"), transaction.atomic():
            Run.objects.filter(pk=run.pk).update(review_state=ReviewState.IN_REVIEW)
        copied = Signature.objects.values("run_id", "signer_id", "signer_name", "meaning", "record").get()
        with pytest.raises(IntegrityError, match="standing signature"), transaction.atomic():
            Signature.objects.create(**copied, record_sha256="0" * 64)

    def test_no_signature_over_what_waits(self, cast: Cast, run: Run) -> None:
        run.queue_items.filter(is_required=True).update(state=ItemState.WAITING, decided_at=None)
        Signature.objects.create(
            run=run,
            signer=cast.reviewer,
            signer_name="R",
            meaning="reviewed",
            record_sha256="0" * 64,
            record={},
        )
        with pytest.raises(IntegrityError, match="still decide"), transaction.atomic():
            Run.objects.filter(pk=run.pk).update(review_state=ReviewState.SIGNED)


class TestPages:
    def test_it_is_signed_and_reopened(self, cast: Cast, client_as: Any, run: Run) -> None:
        client: Client = client_as(cast.reviewer)
        address = f"/runs/{run.pk}/sign/"
        digest = client.get(address).context["digest"]
        wrong = client.post(address, {"meaning": "reviewed", "password": "x", "seen_sha256": digest})
        assert wrong.status_code == 422
        assert "not your password" in wrong.content.decode()

        answer = client.post(
            address, {"meaning": "reviewed", "password": PASSWORD, "seen_sha256": digest}, follow=True
        )
        page = answer.content.decode()
        assert "I have reviewed these verdicts" in page
        assert digest[:16] in page
        assert "override__form" not in page
        assert "The hash matches" in client.get(address).content.decode()
        card = run.candidates.first()
        assert client.post(f"/candidates/{card.pk}/approve/").status_code == 409

        client.post(f"/runs/{run.pk}/reopen/", {"reason": ""})
        assert Run.objects.get(pk=run.pk).review_state == ReviewState.SIGNED
        client.post(f"/runs/{run.pk}/reopen/", {"reason": "A page was missed."})
        assert Run.objects.get(pk=run.pk).review_state == ReviewState.IN_REVIEW
        assert "A page was missed." in client.get(address).content.decode()

    def test_it_says_what_must_be_decided_first(self, cast: Cast, client_as: Any, scene: Scene) -> None:
        page = client_as(cast.reviewer).get(f"/runs/{scene.run.pk}/sign/").content.decode()
        assert "must be decided first" in page
        assert 'type="password"' not in page

    def test_the_number_of_queries(self, cast: Cast, client_as: Any, run: Run) -> None:
        sign(cast, run)
        client = client_as(cast.reviewer)
        for address in (f"/runs/{run.pk}/sign/", f"/runs/{run.pk}/"):
            assert queries_of(client, address) <= 15


class TestApi:
    def test_the_same_rules(self, cast: Cast, client_as: Any, run: Run) -> None:
        client = client_as(cast.reviewer)
        told = client.get(f"/api/v1/runs/{run.pk}/signing/").json()
        body = {"run": run.pk, "meaning": "approved", "record_sha256": told["record_sha256"]}

        def post(path: str, value: dict[str, Any]) -> Any:
            return client.post(f"/api/v1/{path}/", value, content_type="application/json")

        assert post("signatures", body | {"password": "no"}).json()["code"] == "password_wrong"
        made = post("signatures", body | {"password": PASSWORD})
        assert made.status_code == 201, made.json()
        assert made.json()["record"] == told["record"]
        candidate = run.candidates.first()
        refused = post("reviews", {"candidate": candidate.pk, "action": "unsure"})
        assert refused.status_code == 409
        assert post("reopenings", {"run": run.pk, "reason": "Look again."}).status_code == 201
        (row,) = client.get(f"/api/v1/signatures/?run={run.pk}").json()["results"]
        assert row["reopening"]["reason"] == "Look again."
        assert client_as(cast.outsider).get("/api/v1/signatures/").json()["results"] == []
