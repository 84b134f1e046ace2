"""Asking: what the cache key is made of, what a repeated question costs, what an idempotency key stands for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from tests.workbench.cast import Cast
from tests.workbench.scene import HashEmbedder, make_document, make_run
from workbench.audit.models import AuditEvent
from workbench.documents.models import Document, DocumentStatus, EmbeddingSpace
from workbench.documents.services import index_epoch_bump
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.rerankers.models import AliasName, ModelAlias, ModelVersion, Origin
from workbench.runs import execution, gateway, services, strategies
from workbench.runs.models import Run, RunStatus
from workbench.runs.services import AskOutcome, cache_key, question_ask, run_cancel

pytestmark = pytest.mark.usefixtures("here")

TEXT = "How long are access records kept?"


@pytest.fixture
def document(cast: Cast) -> Document:
    return make_document(collection=cast.alpha, owner=cast.analyst)


def ask(cast: Cast, document: Document | None, text: str = TEXT, **options: object) -> AskOutcome:
    return question_ask(
        actor=cast.analyst,
        collection=cast.alpha,
        document=document,
        text=text,
        **({"strategy": "offline"} | options),  # type: ignore[arg-type]
    )


def make_version(number: int = 1) -> ModelVersion:
    return ModelVersion.objects.create(
        number=number,
        digest=f"digest {number}",
        origin=Origin.SEED,
        architecture="mlp",
        feature_version=3,
        threshold=0.5,
        manifest={},
    )


class TestCacheKey:
    """It changes with everything that changes an answer, and with nothing else."""

    @pytest.fixture
    def key(
        self, cast: Cast, document: Document, settings, monkeypatch: pytest.MonkeyPatch
    ) -> Callable[..., str]:
        settings.SEED_MODEL = True  # the version that is named here came with the product
        monkeypatch.setattr("workbench.rerankers.champion.first_version", lambda: None)

        def make(**changed: object) -> str:
            given = {"collection": cast.alpha, "document": document, "text": TEXT, "strategy": "offline"}
            return cache_key(**(given | changed))  # type: ignore[arg-type]

        return make

    @pytest.mark.parametrize(
        "same", [TEXT.lower(), TEXT.title(), TEXT.upper(), f"  {TEXT} ", TEXT.replace(" ", "\u00a0")]
    )
    def test_not_with_blanks_and_capitals(self, key: Callable[..., str], same: str) -> None:
        assert key(text=same) == key()

    @pytest.mark.parametrize(
        ("one", "other"),
        [(TEXT, "How long are payment records kept?"), ("What does GDPR say?", "What does gdpr say?")],
    )
    def test_with_the_wording_and_with_codes(self, key: Callable[..., str], one: str, other: str) -> None:
        assert key(text=one) != key(text=other)

    def test_with_strategy_and_scope(self, cast: Cast, key: Callable[..., str]) -> None:
        other = make_document(collection=cast.alpha, owner=cast.analyst, name="other.txt")

        assert len({key(), key(strategy="bm25"), key(document=None), key(document=other)}) == 4

    def test_with_the_state_of_the_document(self, document: Document, key: Callable[..., str]) -> None:
        before = key()
        Document.objects.filter(pk=document.pk).update(finished_at=Now() + timedelta(hours=1))
        document.refresh_from_db()

        assert key() != before

    def test_with_the_state_of_the_collection_as_it_is_now(self, cast: Cast, key: Callable[..., str]) -> None:
        """The collection may have been read before the last document came."""
        before, of_document = key(document=None), key()
        index_epoch_bump(collection_ids=[cast.alpha.pk])

        assert key(document=None) != before
        assert key() == of_document

    def test_with_settings_code_and_space(
        self, key: Callable[..., str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        keys = {key()}
        engine_settings = services.engine_settings
        with monkeypatch.context() as patch:
            patch.setattr(
                services,
                "engine_settings",
                lambda **given: engine_settings(**given).model_copy(update={"top_k": 7}),
            )
            keys.add(key())
        with monkeypatch.context() as patch:
            patch.setattr(strategies, "engine_digest", lambda: "another release")
            keys.add(key())
        EmbeddingSpace.objects.update(is_active=False)
        EmbeddingSpace.objects.create(name="another", width=3, is_active=True)
        keys.add(key())

        assert len(keys) == 4

    def test_with_the_model_where_one_is_used(self, key: Callable[..., str], settings) -> None:
        settings.LLM_CONFIGURED = True
        settings.OPENAI_MODEL = "one"
        offline, arbiter = key(), key(strategy="arbiter")
        settings.OPENAI_MODEL = "two"

        assert key() == offline
        assert key(strategy="arbiter") != arbiter

    def test_with_the_champion(self, key: Callable[..., str]) -> None:
        keys = {key()}
        for number in (1, 2):
            version = make_version(number)
            ModelAlias.objects.update_or_create(name=AliasName.CHAMPION, defaults={"version": version})
            keys.add(key())
        ModelAlias.objects.create(name=AliasName.SHADOW, version=version)
        keys.add(key())

        assert len(keys) == 3

    def test_with_nothing_else(self, document: Document, key: Callable[..., str]) -> None:
        before = key()
        Document.objects.filter(pk=document.pk).update(title="Renamed", attempts=3, lease_owner="x")
        document.refresh_from_db()

        assert key() == before


class TestRepeated:
    def test_it_is_answered_without_looking_again(
        self, cast: Cast, document: Document, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = make_run(asker=cast.analyst, document=document)

        def never(*_: object, **__: object) -> None:
            pytest.fail("something was computed again")

        monkeypatch.setattr(HashEmbedder, "embed", never)
        monkeypatch.setattr(execution, "detect", never)
        monkeypatch.setattr("workbench.infra.dispatch.dispatch", never)
        again = ask(cast, document)

        assert again.is_cached
        assert again.run.pk == run.pk
        assert Run.objects.count() == 1
        assert AuditEvent.objects.filter(action="question.repeated").count() == 1

    def test_it_takes_few_queries(self, cast: Cast, document: Document) -> None:
        """Permission, state of things, what is restricted, the run, its question, and the event in its transaction."""
        ModelAlias.objects.create(name=AliasName.CHAMPION, version=make_version())
        run = make_run(asker=cast.analyst, document=document)

        ask(cast, document)
        with CaptureQueriesContext(connection) as queries:
            again = ask(cast, document)
            assert (again.run.pk, again.run.question.text) == (run.pk, TEXT)
        written = [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]]
        assert len(written) <= 6, written

    def test_afresh_makes_a_new_run(self, cast: Cast, document: Document) -> None:
        run = make_run(asker=cast.analyst, document=document)

        assert ask(cast, document, use_cache=False).run.pk != run.pk

    @pytest.mark.parametrize("status", [RunStatus.QUEUED, RunStatus.FAILED, RunStatus.CANCELLED])
    def test_only_finished_runs_answer(self, cast: Cast, document: Document, status: str) -> None:
        run = make_run(asker=cast.analyst, document=document)
        Run.objects.filter(pk=run.pk).update(status=status, failure_reason="why")

        assert not ask(cast, document).is_cached

    def test_another_collections_answer_is_not_given(self, cast: Cast, document: Document) -> None:
        make_run(asker=cast.analyst, document=document)
        twin = make_document(collection=cast.beta, owner=cast.outsider)

        outcome = question_ask(
            actor=cast.outsider, collection=cast.beta, document=twin, text=TEXT, strategy="offline"
        )
        assert not outcome.is_cached


class TestIdempotency:
    def test_the_same_request_gives_the_run_it_made(self, cast: Cast, document: Document) -> None:
        first = ask(cast, document, idempotency_key="k")

        assert ask(cast, document, idempotency_key="k").run.pk == first.run.pk
        assert Run.objects.count() == 1

    def test_another_question_is_a_conflict(self, cast: Cast, document: Document) -> None:
        ask(cast, document, idempotency_key="k")

        with pytest.raises(Conflict) as refused:
            ask(cast, document, "How long are payment records kept?", idempotency_key="k")
        assert refused.value.code == "idempotency_reused"

    def test_another_question_is_a_conflict_even_if_it_was_answered_before(
        self, cast: Cast, document: Document
    ) -> None:
        make_run(asker=cast.analyst, document=document)
        ask(cast, document, "How long are payment records kept?", idempotency_key="k")

        with pytest.raises(Conflict):
            ask(cast, document, idempotency_key="k")

    def test_another_scope_or_strategy_is_a_conflict(self, cast: Cast, document: Document) -> None:
        other = make_document(collection=cast.alpha, owner=cast.analyst, name="other.txt")
        ask(cast, document, idempotency_key="k")

        for changed in ({"document": other}, {"document": None}, {"strategy": "bm25"}):
            with pytest.raises(Conflict):
                ask(**({"cast": cast, "document": document, "idempotency_key": "k"} | changed))

    def test_another_persons_key_is_another_key(self, cast: Cast, document: Document) -> None:
        first = ask(cast, document, idempotency_key="k")
        second = question_ask(
            actor=cast.admin,
            collection=cast.alpha,
            document=document,
            text="Another one?",
            strategy="offline",
            idempotency_key="k",
        )

        assert first.run.pk != second.run.pk


class TestRefusals:
    @pytest.mark.parametrize("text", ["", "   ", "?!", "\x00", "\ud800"])
    def test_no_question(self, cast: Cast, document: Document, text: str) -> None:
        with pytest.raises(WorkbenchError, match="Type a question"):
            ask(cast, document, text)

    def test_hostile_characters_are_left_out(self, cast: Cast, document: Document) -> None:
        run = ask(cast, document, "Who\x00 keeps \ud83d records?").run

        assert run.question.text == "Who keeps records?"

    def test_length(self, cast: Cast, document: Document) -> None:
        assert ask(cast, document, "a" * 2000).run
        with pytest.raises(WorkbenchError, match="2000"):
            ask(cast, document, "a" * 2001)

    def test_scope(self, cast: Cast, document: Document) -> None:
        elsewhere = make_document(collection=cast.beta, owner=cast.outsider)
        with pytest.raises(WorkbenchError, match="not in the collection"):
            ask(cast, elsewhere)
        Document.objects.update(status=DocumentStatus.QUEUED)
        document.refresh_from_db()
        for scope in (document, None):
            with pytest.raises(Conflict):
                ask(cast, scope)

    @pytest.mark.parametrize("who", ["auditor"])
    def test_rights(self, cast: Cast, document: Document, who: str) -> None:
        for actor in (cast.members[who], cast.outsider, cast.staff):
            with pytest.raises(NotAllowed):
                question_ask(actor=actor, collection=cast.alpha, document=document, text=TEXT)

    def test_strategies(self, cast: Cast, document: Document, settings) -> None:
        settings.LLM_CONFIGURED = False
        with pytest.raises(WorkbenchError, match="no strategy"):
            ask(cast, document, strategy="oracle")
        with pytest.raises(WorkbenchError, match="needs a language model"):
            ask(cast, document, strategy="arbiter")
        assert not gateway.endpoint_configured()
        assert ask(cast, document, strategy="").run.strategy == "offline"


def test_a_run_is_stopped_once_and_not_after_its_end(cast: Cast, document: Document) -> None:
    run = ask(cast, document).run

    run_cancel(actor=cast.analyst, run=run)
    with pytest.raises(Conflict):
        run_cancel(actor=cast.analyst, run=run)
    with pytest.raises(NotAllowed):
        run_cancel(actor=cast.auditor, run=run)
    run.refresh_from_db()
    assert run.status == RunStatus.CANCELLED


def test_following_references_is_an_option_of_asking(cast: Cast, document: Document) -> None:
    plain = ask(cast, document).run
    following = ask(cast, document, follow_references=True).run
    assert plain.pk != following.pk, "another answer may come of it"
    assert following.settings["follow_references"] is True
    execution.run_detect(run_id=following.pk)
    following.refresh_from_db()
    assert "references" in following.methods_run


class TestDefaultStrategy:
    """Which strategy decides where nobody chose one."""

    @pytest.fixture(autouse=True)
    def _with_a_model(self, settings: Any) -> None:
        settings.LLM_CONFIGURED = True
        settings.DEFAULT_STRATEGY = ""

    def test_where_the_text_may_go_to_the_endpoint(self, cast: Cast) -> None:
        cast.alpha.allowed_endpoints = [gateway.endpoint_name()]
        assert strategies.strategy_for(collection=cast.alpha) == "arbiter"

    def test_an_endpoint_that_the_collection_does_not_allow_decides_nothing(self, cast: Cast) -> None:
        cast.alpha.allowed_endpoints = ["https://elsewhere.example/v1"]
        assert strategies.strategy_for(collection=cast.alpha) == "offline"
