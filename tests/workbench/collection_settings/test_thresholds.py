"""Thresholds per collection: proposed by calibration, put to use by an admin, kept in order by the database."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.test import Client

from arbitration.strategies.multi_criteria import DEFAULT_WEIGHT
from arbitration.strategies.rubrics import PROPERTIES
from arbitration.triage import OPEN_GATES, GateProfile
from tests.arbitration.evaluation.folders import obliqa_folder, obliqa_label
from tests.workbench.cast import Cast
from tests.workbench.pages.conftest import queries_of
from tests.workbench.scene import HashEmbedder, Scene, make_run
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.collection_settings import services
from workbench.collection_settings.models import CollectionGates, GateProposal
from workbench.collection_settings.selectors import criteria_weights_of, gates_of
from workbench.documents.embedding import active_space
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.operations.calibration import NothingToLearn, calibration_of_collection
from workbench.review.services import candidate_override
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import Run
from workbench.runs.services import cache_key, question_ask

ClientAs = Callable[[User | None], Client]


def profile(**changes: Any) -> GateProfile:
    values = {"minimum": 0.2, "verify": 0.3, "accept": 0.6, "gap": 0.3, "name": "by hand"} | changes
    return GateProfile(embedding_space=active_space().name, **values)


def apply(cast: Cast, actor: User | None = None, **options: Any) -> CollectionGates:
    given = {"profile": profile(), "seen_revision": 0, "reason": "measured"} | options
    return services.gates_apply(actor=actor or cast.admin, collection=cast.alpha, **given)


class TestApplying:
    def test_they_are_in_use_and_on_record_with_before_and_after(self, cast: Cast) -> None:
        apply(cast)
        apply(cast, profile=profile(accept=0.7), seen_revision=1)
        assert gates_of(collection=cast.alpha).accept == 0.7
        assert gates_of(collection=cast.beta) is None
        event = AuditEvent.objects.filter(action="thresholds.applied").latest("id")
        assert (event.before["accept"], event.after["accept"]) == (0.6, 0.7)
        assert event.reason == "measured"

    @pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator", "auditor", "staff"])
    def test_only_an_admin_of_the_collection(self, name: str, cast: Cast) -> None:
        with pytest.raises(NotAllowed):
            apply(cast, actor=getattr(cast, name))
        assert not CollectionGates.objects.exists()

    def test_two_admins_do_not_overwrite_each_other_unseen(self, cast: Cast) -> None:
        apply(cast)
        with pytest.raises(Conflict):
            apply(cast, seen_revision=0)
        with pytest.raises(Conflict):
            apply(cast, seen_revision=7)

    def test_thresholds_of_another_embedder_are_refused(self, cast: Cast) -> None:
        with pytest.raises(WorkbenchError, match="another embedder"):
            apply(cast, profile=profile().model_copy(update={"embedding_space": "other/8"}))

    def test_other_thresholds_are_another_question_to_the_cache(self, cast: Cast, scene: Scene) -> None:
        def key() -> str:
            return cache_key(collection=cast.alpha, document=scene.document, text="Why?", strategy="offline")

        before = key()
        apply(cast)
        assert key() != before
        services.gates_remove(actor=cast.admin, collection=cast.alpha, seen_revision=1, reason="no more")
        assert key() == before

    def test_the_engine_uses_them(self, cast: Cast, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        from workbench.runs import execution

        seen: list[object] = []
        arbitrate = execution.arbitrate

        def spy(**given: Any) -> Any:
            seen.append(given["services"].options.get("gates"))
            return arbitrate(**given)

        monkeypatch.setattr(execution, "arbitrate", spy)
        apply(cast)
        make_run(asker=cast.analyst, document=scene.document, text="Who lifts a legal hold?")
        assert seen == [gates_of(collection=cast.alpha)]


@pytest.mark.parametrize(
    "wrong",
    [{"minimum": 0.9}, {"verify": 0.9}, {"accept": 1.5, "minimum": 1.2}, {"gap": -0.1}, {"evidence_lost": 2}],
    ids=str,
)
def test_the_database_keeps_the_order_too(wrong: dict[str, float], cast: Cast) -> None:
    apply(cast)
    with pytest.raises(IntegrityError), transaction.atomic():
        CollectionGates.objects.update(**wrong)


class TestCalibrating:
    def test_a_collection_without_decided_evidence_says_what_to_do(self, cast: Cast) -> None:
        with pytest.raises(NothingToLearn, match="Approve or override"):
            calibration_of_collection(collection=cast.alpha)

    def test_decisions_of_people_are_the_labels(self, cast: Cast, scene: Scene) -> None:
        for candidate in scene.run.candidates.filter(reviews__isnull=True):
            candidate_override(
                actor=cast.reviewer, candidate=candidate, role="tangential", reason_code="wrong_role"
            )
        out = StringIO()
        call_command("calibrate", "--collection", "alpha", "--json", stdout=out)
        value = json.loads(out.getvalue())
        assert value["evidence"] >= 1
        assert value["evidence_lost"] == 0
        assert value["applied"] is False
        assert gates_of(collection=cast.alpha) is None
        assert GateProposal.objects.get(pk=value["proposal"]).profile.evidence_lost == 0
        assert AuditEvent.objects.filter(action="thresholds.proposed").exists()

    def test_a_labelled_folder_is_for_every_collection(
        self, cast: Cast, here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("workbench.runs.evaluation.current_embedder", HashEmbedder)
        monkeypatch.setattr("workbench.documents.ingest.current_embedder", HashEmbedder)
        labels = [obliqa_label("1.1.1.(1)", question="When must a firm pay its fee?")]
        folder = obliqa_folder(tmp_path / "labels", labels)
        out = StringIO()
        call_command("calibrate", "--labels", str(folder), "--json", stdout=out)
        value = json.loads(out.getvalue())
        assert value["collection"] is None
        assert value["gates"]["minimum"] <= value["gates"]["accept"]

    @pytest.mark.parametrize(
        ("options", "status"),
        [([], 2), (["--collection", "a", "--labels", "."], 2), (["--collection", "nowhere"], 1)],
    )
    def test_wrong_use_and_refusals_differ(self, options: list[str], status: int, cast: Cast) -> None:
        with pytest.raises(CommandError) as caught:
            call_command("calibrate", *options)
        assert status == 2 or caught.value.returncode == status


class TestPage:
    URL = "/collections/alpha/settings/"

    def proposal(self, cast: Cast, **changes: Any) -> GateProposal:
        given = {
            "collection": cast.alpha, "space": active_space().name, "name": "calibrated", "minimum": 0.1, "verify": 0.2,
            "accept": 0.5, "gap": 0.4, "keyword": 0.7, "query": 0.65, "alias": 0.85, "confident": 0.85,
            "evidence_lost": 0.004, "source": "decisions in alpha", "questions": 9, "evidence": 30,
            "rejected_share": 0.4, "accepted_share": 0.1, "accepted_precision": 0.95, "created_by": cast.admin,
        }  # fmt: skip
        return GateProposal.objects.create(**(given | changes))

    @pytest.mark.parametrize("name", ["admin", "auditor"])
    def test_admins_and_auditors_read_it(self, name: str, cast: Cast, client_as: ClientAs) -> None:
        self.proposal(cast)
        page = client_as(getattr(cast, name)).get(self.URL)
        assert page.status_code == 200
        assert b"0.40 %" in page.content
        assert (b"Apply this proposal" in page.content) == (name == "admin")

    @pytest.mark.parametrize("name", ["analyst", "reviewer", "annotator", "outsider"])
    def test_nobody_else_does(self, name: str, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(getattr(cast, name))
        assert client.get(self.URL).status_code == 404
        assert client.post(f"{self.URL}thresholds/", {}).status_code == 404

    def test_a_proposal_is_put_to_use_with_a_reason(self, cast: Cast, client_as: ClientAs) -> None:
        proposal = self.proposal(cast)
        client = client_as(cast.admin)
        given = {"proposal": proposal.pk, "seen_revision": 0}
        client.post(f"{self.URL}thresholds/apply/", given)
        assert gates_of(collection=cast.alpha) is None
        client.post(f"{self.URL}thresholds/apply/", given | {"reason": "month end"})
        assert gates_of(collection=cast.alpha) == proposal.profile
        assert b"in use" in client.get(self.URL).content

    def test_a_proposal_of_another_collection_is_not_there(self, cast: Cast, client_as: ClientAs) -> None:
        proposal = self.proposal(cast, collection=cast.beta)
        given = {"proposal": proposal.pk, "seen_revision": 0, "reason": "x"}
        client_as(cast.admin).post(f"{self.URL}thresholds/apply/", given)
        assert gates_of(collection=cast.alpha) is None

    def test_by_hand_they_must_be_in_order_and_reject_nothing(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.admin)
        given = {
            name: getattr(OPEN_GATES, name) for name in ("keyword", "query", "alias", "confident", "gap")
        }
        given |= {"seen_revision": 0, "reason": "try", "minimum": 0.9, "verify": 0.4, "accept": 0.6}
        wrong = client.post(f"{self.URL}thresholds/", given)
        assert wrong.status_code == 422
        assert b"must not lie above accept" in wrong.content
        client.post(f"{self.URL}thresholds/", given | {"minimum": 0.3})
        assert gates_of(collection=cast.alpha).accept == 0.6
        assert not gates_of(collection=cast.alpha).may_reject

    def test_where_text_may_go_is_changed_on_record(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.admin)
        given = {
            "default_strategy": "offline",
            "allowed_endpoints": "https://a.example/v1\n",
            "description": "",
            "contributes_to_training": "on",
        } | dict.fromkeys(PROPERTIES, DEFAULT_WEIGHT)
        client.post(f"{self.URL}change/", given)
        cast.alpha.refresh_from_db()
        assert cast.alpha.allowed_endpoints == ["https://a.example/v1"]
        event = AuditEvent.objects.get(action="collection.changed")
        assert event.after == {"default_strategy": "offline", "allowed_endpoints": ["https://a.example/v1"]}
        assert client.post(f"{self.URL}change/", given | {"allowed_endpoints": "ftp://x"}).status_code == 422

    def test_weights_of_multi_criteria_are_the_collections(self, cast: Cast, client_as: ClientAs) -> None:
        given = {"allowed_endpoints": "", "default_strategy": "", "description": ""}
        weights = dict.fromkeys(PROPERTIES, 0.25) | {"recency": 1.0}
        assert criteria_weights_of(collection=cast.alpha) == dict.fromkeys(PROPERTIES, DEFAULT_WEIGHT)
        before = cache_key(collection=cast.alpha, document=None, text="Why?", strategy="multi-criteria")

        admin = client_as(cast.admin)
        wrong = admin.post(f"{self.URL}change/", given | weights | {"depth": 1.5})
        assert wrong.status_code == 422
        assert b"less than or equal to 1" in wrong.content
        assert admin.post(f"{self.URL}change/", given | weights).status_code == 302

        cast.alpha.refresh_from_db()
        assert criteria_weights_of(collection=cast.alpha) == weights
        event = AuditEvent.objects.get(action="collection.changed")
        assert event.after["criteria_weights"] == weights
        after = cache_key(collection=cast.alpha, document=None, text="Why?", strategy="multi-criteria")
        assert before != after, "other weights, other answers"
        assert b"Recency 1" in client_as(cast.auditor).get(self.URL).content

    def test_few_queries(self, cast: Cast, client_as: ClientAs) -> None:
        for _ in range(3):
            self.proposal(cast)
        assert queries_of(client_as(cast.admin), self.URL) <= 15


class TestReuse:
    """``confident`` and ``query``: what is kept for the next asker, and what is linked."""

    def asked(self, scene: Scene, cast: Cast, text: str = "Who lifts a legal hold?") -> tuple[Run, bool]:
        outcome = question_ask(
            actor=cast.analyst,
            collection=scene.document.collection,
            document=scene.document,
            text=text,
            strategy="r-flow",
        )
        if not outcome.is_cached:
            for stage in (run_detect, run_arbitrate, run_answer):
                stage(run_id=outcome.run.pk)
        return Run.objects.get(pk=outcome.run.pk), outcome.is_cached

    @pytest.mark.parametrize(("confident", "is_kept"), [(0.0, True), (1.0, False)])
    def test_only_a_confident_answer_is_kept(
        self, confident: float, is_kept: bool, scene: Scene, cast: Cast
    ) -> None:
        apply(cast, profile=profile(confident=confident))
        self.asked(scene, cast)
        assert self.asked(scene, cast)[1] is is_kept

    def test_without_thresholds_every_answer_is_kept(self, scene: Scene, cast: Cast) -> None:
        self.asked(scene, cast)
        assert self.asked(scene, cast)[1] is True

    @pytest.mark.parametrize(("query", "is_linked"), [(0.5, True), (1.0, False)])
    def test_another_wording_is_linked_from_the_threshold_on(
        self, query: float, is_linked: bool, scene: Scene, cast: Cast
    ) -> None:
        apply(cast, profile=profile(query=query))
        first, _ = self.asked(scene, cast, "Who lifts a legal hold?")
        second, _ = self.asked(scene, cast, "Who lifts a legal hold, please?")
        found = second.parsed_question["similar_run"]
        assert (found is not None and found["run_id"] == first.pk) is is_linked
