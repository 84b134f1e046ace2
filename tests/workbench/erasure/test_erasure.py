"""Deleting: who may, what it means at once, how it is taken back; legal hold and retention."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.workbench.cast import Cast
from tests.workbench.scene import Scene, make_document
from workbench.accounts.models import User
from workbench.audit.models import AuditEvent
from workbench.documents.erasure import (
    document_delete,
    document_keep,
    documents_due,
    documents_retain,
    hold_set,
    retention_set,
)
from workbench.documents.lexical import lexical_index
from workbench.documents.models import Collection, Document, DocumentStatus
from workbench.erasure.purge import document_purge, documents_purge
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.runs.models import Answer, CandidateText, LLMCall, LLMCallBody, Verdict
from workbench.runs.services import question_ask

ClientAs = Callable[[User | None], Client]
WHY = "The client asked for it."


def delete(cast: Cast, document: Document) -> Document:
    return document_delete(actor=cast.admin, document=document, reason=WHY)


def let_time_pass() -> None:
    """The delay of every deletion, and the patience with runs, is over."""
    Document.objects.filter(status=DocumentStatus.DELETED).update(erase_at=Now() - timedelta(hours=2))


def hold(cast: Cast, *, is_held: bool = True) -> None:
    hold_set(actor=cast.admin, collection=cast.alpha, is_held=is_held, reason="A case.")


def run_sql(statement: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


class TestDeleting:
    def test_the_document_is_not_asked_any_more_and_its_text_waits(self, cast: Cast, scene: Scene) -> None:
        deleted = delete(cast, scene.document)
        assert deleted.status == DocumentStatus.DELETED
        assert deleted.erase_at - deleted.deleted_at == timedelta(days=7)
        assert documents_purge() == 0
        assert scene.document.lines.exists()
        for document in (scene.document, None):
            with pytest.raises(Conflict):
                question_ask(
                    actor=cast.analyst,
                    collection=cast.alpha,
                    document=document,
                    text="What about the deletion?",
                    strategy="offline",
                )
        (event,) = AuditEvent.objects.filter(action="document.deleted")
        assert (event.actor, event.reason, event.before) == (cast.admin, WHY, {"status": "ready"})

    def test_it_is_taken_back_and_can_be_asked_again(self, cast: Cast, scene: Scene) -> None:
        delete(cast, scene.document)
        kept = document_keep(actor=cast.admin, document=scene.document, reason="By mistake.")
        assert (kept.status, kept.erase_at, kept.deleted_by) == (DocumentStatus.READY, None, None)
        let_time_pass()
        assert documents_purge() == 0
        assert lexical_index(cast.alpha).body_lines(scene.document.pk) > 0
        assert AuditEvent.objects.get(action="document.kept").reason == "By mistake."

    def test_an_erased_one_is_not_taken_back(self, cast: Cast, scene: Scene) -> None:
        delete(cast, scene.document)
        let_time_pass()
        documents_purge()
        with pytest.raises(Conflict, match="not waiting"):
            document_keep(actor=cast.admin, document=scene.document, reason="Please.")

    def test_who_may_and_what_is_refused(self, cast: Cast, scene: Scene) -> None:
        for person in (cast.analyst, cast.reviewer, cast.auditor, cast.outsider, cast.staff):
            with pytest.raises(NotAllowed):
                document_delete(actor=person, document=scene.document, reason=WHY)
        with pytest.raises(WorkbenchError, match="Say why"):
            document_delete(actor=cast.admin, document=scene.document, reason=" ")
        Document.objects.filter(pk=scene.document.pk).update(status=DocumentStatus.PARSING)
        with pytest.raises(Conflict, match="being read"):
            delete(cast, scene.document)
        Document.objects.filter(pk=scene.document.pk).update(status=DocumentStatus.READY)
        delete(cast, scene.document)
        for person in (cast.analyst, cast.auditor):
            with pytest.raises(NotAllowed):
                document_keep(actor=person, document=scene.document, reason=WHY)
        with pytest.raises(Conflict, match="already"):
            delete(cast, scene.document)

    def test_policy_may_say_at_once(
        self, cast: Cast, scene: Scene, django_capture_on_commit_callbacks: Any
    ) -> None:
        retention_set(actor=cast.admin, collection=cast.alpha, days=None, delay_days=0, reason="Policy.")
        with django_capture_on_commit_callbacks() as callbacks:
            deleted = delete(cast, scene.document)
        assert callbacks  # a worker is woken
        assert document_purge(document_id=deleted.pk)

    def test_pages_delete_and_keep(self, cast: Cast, scene: Scene, client_as: ClientAs) -> None:
        client = client_as(cast.admin)
        page = f"/documents/{scene.document.pk}/"
        asked = client.get(page).text
        assert "Delete this document" in asked
        assert "Until then, earlier runs still quote it" in asked
        assert "Delete this document" not in client_as(cast.analyst).get(page).content.decode()
        unsure = client.post(f"{page}delete/", {"reason": WHY})
        assert unsure.status_code == 422
        shown = client.post(f"{page}delete/", {"reason": WHY, "is_sure": "on"}, follow=True).content.decode()
        assert "This document is deleted" in shown
        assert "twenty-four months" not in shown
        assert client.get(f"{page}original/").status_code == 404
        shown = client.post(f"{page}keep/", {"reason": "By mistake."}, follow=True).content.decode()
        assert "twenty-four months" in shown


class TestLegalHold:
    def test_it_refuses_every_deletion_and_stops_one_on_its_way(
        self, cast: Cast, scene: Scene, client_as: ClientAs
    ) -> None:
        on_its_way = make_document(collection=cast.alpha, owner=cast.analyst, name="other.txt")
        delete(cast, on_its_way)
        let_time_pass()
        retention_set(actor=cast.admin, collection=cast.alpha, days=1, delay_days=0, reason="Policy.")
        Document.objects.update(created_at=Now() - timedelta(days=9))
        hold(cast)

        with pytest.raises(Conflict, match="legal hold"):
            delete(cast, scene.document)
        assert documents_retain() == 0
        assert documents_purge() == 0
        assert not document_purge(document_id=on_its_way.pk)
        client = client_as(cast.admin)
        page = f"/documents/{scene.document.pk}/"
        refused = client.post(f"{page}delete/", {"reason": WHY, "is_sure": "on"}, follow=True)
        assert "under a legal hold" in refused.content.decode()
        refused = client.post(
            f"/api/v1/documents/{scene.document.pk}/delete/",
            json.dumps({"reason": WHY}),
            content_type="application/json",
        )
        assert (refused.status_code, refused.json()["code"]) == (409, "legal_hold")
        assert scene.document.lines.exists()
        assert on_its_way.lines.exists()

        hold(cast, is_held=False)
        assert documents_purge() == 1
        assert documents_retain() == 1

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE documents_document SET status = 'queued'",
            "UPDATE documents_document SET sha256 = md5(sha256)",
            "UPDATE documents_document SET file = ''",
            "DELETE FROM documents_passagevector; DELETE FROM documents_passage",
            "DELETE FROM documents_line",
            "DELETE FROM documents_page",
            "DELETE FROM documents_section",
            "UPDATE documents_line SET text = ''",
            "UPDATE documents_passage SET text = ''",
            "UPDATE documents_section SET title = ''",
            "DELETE FROM questions_candidatetext",
            "DELETE FROM questions_verdict",
            "DELETE FROM questions_answer",
            "UPDATE questions_answer SET body = '{}'",
            "DELETE FROM questions_llmcallbody",
            "UPDATE questions_candidatetext SET anchor = ''",
            "UPDATE questions_verdict SET reason = ''",
            "UPDATE questions_llmcallbody SET request = '[]'",
            # Moved out of the hold, it could be deleted.
            "UPDATE documents_line SET document_id = document_id + 1",
            "UPDATE questions_run SET collection_id = collection_id + 1",
            "UPDATE questions_candidate SET run_id = run_id + 1",
            "UPDATE questions_candidatetext SET candidate_id = candidate_id + 100",
            "UPDATE questions_llmcall SET collection_id = NULL",
            "UPDATE questions_llmcallbody SET call_id = call_id + 1",
            "DELETE FROM documents_collection WHERE slug = 'alpha'",
            "TRUNCATE documents_line",
            "TRUNCATE questions_llmcallbody",
            "TRUNCATE documents_collection CASCADE",
        ],
    )
    def test_the_database_refuses_too(self, cast: Cast, scene: Scene, statement: str) -> None:
        call = LLMCall.objects.create(collection=cast.alpha, run=scene.run, attempt=1, outcome="ok")
        LLMCallBody.objects.create(call=call, request={})
        hold(cast)
        # A table with checks to come cannot be truncated, held or not.
        run_sql("SET CONSTRAINTS ALL IMMEDIATE")
        with pytest.raises(DatabaseError, match="under a legal hold"):
            run_sql(statement)
        assert CandidateText.objects.exists()
        assert Verdict.objects.exists()
        assert Answer.objects.exists()

    def test_it_is_not_changed_without_its_event(self, cast: Cast, transactional_db: None) -> None:
        """Whoever writes SQL lifts it no other way than with an event of this very transaction."""
        hold(cast)
        with transaction.atomic():  # the service works in a savepoint of a longer transaction too
            hold(cast, is_held=False)
            hold(cast)
        for statement in (
            "UPDATE documents_collection SET legal_hold = false WHERE slug = 'alpha'",
            "UPDATE documents_collection SET legal_hold = NOT legal_hold",
        ):
            with pytest.raises(DatabaseError, match="only with the event"):
                run_sql(statement)
        assert list(Collection.objects.filter(legal_hold=True)) == [cast.alpha]

    def test_it_covers_its_collection_only_and_lets_others_read_on(self, cast: Cast, scene: Scene) -> None:
        elsewhere = make_document(collection=cast.beta, owner=cast.analyst)
        hold_set(actor=cast.outsider, collection=cast.beta, is_held=True, reason="Another case.")
        delete(cast, scene.document)
        let_time_pass()
        assert documents_purge() == 1
        assert elsewhere.lines.exists()
        # New documents are read under a hold, and a failed one is read again.
        waiting = make_document(collection=cast.beta, owner=cast.analyst, name="new.txt")
        assert waiting.status == DocumentStatus.READY

    def test_placing_and_lifting_are_audited_acts_of_an_admin(
        self, cast: Cast, scene: Scene, client_as: ClientAs
    ) -> None:
        for person in (cast.analyst, cast.auditor, cast.outsider, cast.staff):
            with pytest.raises(NotAllowed):
                hold_set(actor=person, collection=cast.alpha, is_held=True, reason="A case.")
        client = client_as(cast.admin)
        page = "/collections/alpha/settings/"
        assert client.post(f"{page}hold/", {"is_held": "True", "reason": " "}).status_code == 422
        client.post(f"{page}hold/", {"is_held": "True", "reason": "A case."})
        assert "This collection is under a legal hold" in client.get(page).content.decode()
        client.post(f"{page}hold/", {"is_held": "False", "reason": "Closed."})
        events = AuditEvent.objects.filter(action__startswith="collection.hold_").order_by("pk")
        assert [(event.action, event.actor, event.reason) for event in events] == [
            ("collection.hold_placed", cast.admin, "A case."),
            ("collection.hold_lifted", cast.admin, "Closed."),
        ]


class TestRetention:
    def test_it_deletes_what_is_older_and_nothing_else(self, cast: Cast, scene: Scene) -> None:
        young = make_document(collection=cast.alpha, owner=cast.analyst, name="young.txt")
        elsewhere = make_document(collection=cast.beta, owner=cast.analyst, name="old.txt")
        Document.objects.exclude(pk=young.pk).update(created_at=Now() - timedelta(days=31))
        retention_set(actor=cast.admin, collection=cast.alpha, days=30, delay_days=7, reason="Policy.")
        assert documents_retain() == 1
        assert set(Document.objects.filter(status=DocumentStatus.READY)) == {young, elsewhere}
        assert documents_retain() == 0
        event = AuditEvent.objects.get(action="document.deleted")
        assert (event.actor.is_system, event.reason) == (True, "retention of 30 days")
        with pytest.raises(Conflict, match="retention"):
            document_keep(actor=cast.admin, document=scene.document, reason="Too soon.")
        retention_set(actor=cast.admin, collection=cast.alpha, days=60, delay_days=7, reason="Longer.")
        document_keep(actor=cast.admin, document=scene.document, reason="Longer.")

    def test_what_is_not_due_is_not_looked_at(self, cast: Cast, scene: Scene) -> None:
        """The index of age holds neither deleted documents nor those that are being read, and its condition is the
        question's."""
        old = make_document(collection=cast.alpha, owner=cast.analyst, name="old.txt")
        Document.objects.filter(pk=old.pk).update(created_at=Now() - timedelta(days=31))
        retention_set(actor=cast.admin, collection=cast.alpha, days=30, delay_days=7, reason="Policy.")
        retention_set(actor=cast.outsider, collection=cast.beta, days=30, delay_days=7, reason="Policy.")
        hold_set(actor=cast.outsider, collection=cast.beta, is_held=True, reason="A case.")
        with CaptureQueriesContext(connection) as queries:
            assert [document.pk for document in documents_due()] == [old.pk]
        (_collections, search) = [query["sql"] for query in queries]
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
            cursor.execute("SET LOCAL enable_sort = off")
            cursor.execute(f"EXPLAIN (COSTS OFF) {search}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
        assert "documents_by_age" in plan
        condition = next(line for line in plan.splitlines() if "Index Cond" in line and "created_at" in line)
        assert "collection_id" in condition

    def test_its_limits(self, cast: Cast) -> None:
        for days, delay in ((0, 7), (36_501, 7), (30, -1), (30, 366)):
            with pytest.raises(WorkbenchError):
                retention_set(
                    actor=cast.admin, collection=cast.alpha, days=days, delay_days=delay, reason="Policy."
                )
        assert Collection.objects.get(pk=cast.alpha.pk).retention_days is None

    def test_its_page_and_the_api(self, cast: Cast, client_as: ClientAs) -> None:
        client = client_as(cast.admin)
        page = "/collections/alpha/settings/"
        client.post(f"{page}retention/", {"days": "90", "delay_days": "0", "reason": "Policy."})
        shown = client.get(page).content.decode()
        assert "90 days" in shown
        assert "at once" in shown
        body = {"legal_hold": True, "retention_days": None, "erasure_delay_days": 14, "reason": "A case."}
        answer = client.post("/api/v1/collections/alpha/keeping/", body, content_type="application/json")
        expected = {"legal_hold": True, "retention_days": None, "erasure_delay_days": 14}
        assert answer.json() == expected
        assert client_as(cast.auditor).get("/api/v1/collections/alpha/keeping/").json() == expected
        event = AuditEvent.objects.filter(action="collection.retention_changed").latest("pk")
        assert event.before == {"retention_days": 90, "erasure_delay_days": 0}
