"""``manage.py reembed``: old documents get what they lack, and nothing is done twice however often it is stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from typing import Any

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.db import connection

from tests.fake_llm import FakeLLM
from tests.workbench.cast import Cast
from tests.workbench.scene import HashEmbedder, TokenHashEmbedder, make_document, make_run, parsed
from workbench.audit.models import AuditEvent
from workbench.documents import embedding, ingest, reembedding
from workbench.documents.embedding import active_space
from workbench.documents.ingest import document_ingest
from workbench.documents.management.commands import reembed as command
from workbench.documents.models import (
    Document,
    EmbeddingSpace,
    PassageTokens,
    PassageVector,
)
from workbench.documents.services import document_upload
from workbench.documents.tokens import passages_embed, placed_passages
from workbench.runs import execution
from workbench.stack.client import connects_as_owner

pytest_plugins = ["tests.fake_llm.plugin"]

KEYS = {
    "space", "documents", "passages", "documents_done", "passages_done", "vectors", "tokens", "collection", "left",
    "active_space", "changed_over", "seconds",
}  # fmt: skip


class Watched(TokenHashEmbedder):
    """Keeps what it was given; may be told to do something first."""

    given: list[list[str]]
    before: Callable[[], None] | None

    def __init__(self) -> None:
        self.given, self.before = [], None

    def embed_tokens(self, texts: Sequence[str]) -> Any:
        self.given.append(list(texts))
        if self.before:
            self.before()
        return super().embed_tokens(texts)

    def times(self, document: Document) -> list[int]:
        """How often each passage of a document was embedded."""
        texts = document.passages.order_by("ordinal").values_list("text", flat=True)
        return [sum(given.count(text) for given in self.given) for text in texts]


class Narrow(HashEmbedder):
    """Another encoder, of another width, that gives no vectors of tokens."""

    space = "another-encoder/8"
    width = 8


@pytest.fixture
def embedder(here: None, monkeypatch: pytest.MonkeyPatch) -> Watched:
    watched = Watched()
    monkeypatch.setattr(command, "current_embedder", lambda: watched)
    return watched


@pytest.fixture
def old(cast: Cast, here: None) -> Document:
    """With vectors, as an earlier version left it: without those of its tokens."""
    return make_document(collection=cast.alpha, owner=cast.analyst)


@pytest.fixture
def changing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The encoder that is set is another one; spaces outlive a transactional test."""
    former = active_space()
    monkeypatch.setattr(command, "current_embedder", Narrow)
    yield
    EmbeddingSpace.objects.filter(is_active=True).update(is_active=False)
    EmbeddingSpace.objects.filter(pk=former.pk).update(is_active=True)
    for space in EmbeddingSpace.objects.exclude(pk=former.pk):
        with connection.cursor() as cursor:
            cursor.execute(f"DROP INDEX IF EXISTS documents_vector_hnsw_{space.pk}")
        space.delete()


def reembed(*arguments: str) -> dict[str, Any]:
    output = StringIO()
    call_command("reembed", "--json", *arguments, stdout=output)
    return json.loads(output.getvalue())


def tokens_of(document: Document) -> list[tuple[int, bytes]]:
    rows = PassageTokens.objects.filter(document=document).order_by("passage__ordinal")
    return [(key, bytes(packed)) for key, packed in rows.values_list("passage_id", "packed")]


@pytest.mark.django_db
class TestOldDocuments:
    def test_they_get_the_tokens_that_ingestion_would_have_written(
        self, old: Document, embedder: Watched
    ) -> None:
        vectors = list(PassageVector.objects.order_by("pk").values_list("pk", "passage_id"))

        done = reembed()

        assert set(done) == KEYS
        assert (done["documents_done"], done["passages_done"], done["vectors"], done["tokens"]) == (
            1,
            3,
            0,
            3,
        )
        assert (done["left"], done["changed_over"], done["active_space"]) == (0, False, done["space"])
        assert tokens_of(old) == passages_embed(placed_passages(old), embedder=TokenHashEmbedder())[1]
        assert list(PassageVector.objects.order_by("pk").values_list("pk", "passage_id")) == vectors

    def test_what_is_there_is_not_computed_again(self, old: Document, embedder: Watched) -> None:
        reembed()
        embedder.before = lambda: pytest.fail("it was embedded again")

        done = reembed()

        assert (done["documents"], done["passages"], done["tokens"]) == (0, 0, 0)

    def test_a_missing_vector_is_made_too(self, old: Document, embedder: Watched) -> None:
        first = old.passages.order_by("ordinal").first()
        expected = first.vectors.get().embedding
        first.vectors.all().delete()

        done = reembed()

        assert (done["vectors"], done["tokens"]) == (1, 3)
        assert np.allclose(first.vectors.get().embedding, expected)
        assert first.vectors.get().collection_id == old.collection_id

    def test_tokens_in_the_layout_of_an_earlier_version_are_made_anew(
        self, old: Document, embedder: Watched
    ) -> None:
        reembed()
        expected = tokens_of(old)
        stale = PassageTokens.objects.order_by("passage__ordinal").first()
        PassageTokens.objects.filter(pk=stale.pk).update(packed=b"\x00" + bytes(stale.packed)[1:])

        done = reembed()

        assert (done["passages"], done["tokens"]) == (1, 1)
        assert tokens_of(old) == expected

    def test_of_one_collection_only(self, cast: Cast, old: Document, embedder: Watched) -> None:
        other = make_document(collection=cast.beta, owner=cast.analyst, name="other.txt")

        done = reembed("--collection", cast.beta.slug)

        assert (done["collection"], done["documents_done"]) == (cast.beta.slug, 1)
        assert len(tokens_of(other)) == 3
        assert tokens_of(old) == []

    def test_a_collection_that_there_is_not_is_refused(self, embedder: Watched) -> None:
        with pytest.raises(CommandError, match="no collection 'elsewhere'"):
            reembed("--collection", "elsewhere")

    def test_an_encoder_without_tokens_lacks_none(
        self, old: Document, embedder: Watched, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Watched, "gives_tokens", False)

        assert reembed()["passages"] == 0

    def test_no_more_passages_are_held_than_a_batch(
        self, old: Document, embedder: Watched, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reembedding, "BATCH", 2)

        reembed()

        assert max(map(len, embedder.given)) == 2
        assert embedder.times(old) == [1, 1, 1]

    def test_a_document_erased_meanwhile_stays_erased(self, old: Document, embedder: Watched) -> None:
        embedder.before = lambda: old.passages.all().delete()

        done = reembed()

        assert (done["vectors"], done["tokens"], done["left"]) == (0, 0, 0)
        assert not PassageTokens.objects.exists()

    def test_people_read_how_far_it_is(self, old: Document, embedder: Watched) -> None:
        output, notes = StringIO(), StringIO()

        call_command("reembed", stdout=output, stderr=notes)

        assert "3 of 3 passages and 1 of 1 documents are done." in notes.getvalue()
        assert "the tokens of 3 passages" in output.getvalue()


@pytest.mark.django_db(transaction=True)
class TestStopped:
    """Transactional: what an interrupted command leaves must be committed."""

    @pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit], ids=["by Ctrl-C", "by a crash"])
    def test_the_same_command_goes_on(
        self, old: Document, embedder: Watched, monkeypatch: pytest.MonkeyPatch, end: type[BaseException]
    ) -> None:
        monkeypatch.setattr(reembedding, "BATCH", 1)
        third = old.passages.order_by("ordinal").values_list("text", flat=True)[2]

        def stop() -> None:
            if embedder.given[-1] == [third]:
                raise end

        embedder.before = stop
        with pytest.raises((CommandError, SystemExit)) as stopped:
            reembed()
        assert len(tokens_of(old)) == 2, "each batch is committed by itself"

        embedder.before = None
        done = reembed()

        if end is KeyboardInterrupt:
            assert stopped.value.returncode == 130  # type: ignore[union-attr]
            assert "2 of 3 passages" in str(stopped.value)
        assert (done["passages"], done["tokens"]) == (1, 1)
        assert embedder.times(old) == [1, 1, 2]
        assert len(tokens_of(old)) == 3


@pytest.mark.django_db(transaction=True)
class TestNewEncoder:
    def test_it_is_refused_unless_it_is_asked_for(self, old: Document, changing: None) -> None:
        with pytest.raises(CommandError, match="reembed --new-encoder"):
            reembed()

        assert EmbeddingSpace.objects.count() == 1

    def test_its_space_is_filled_and_then_active(
        self, cast: Cast, old: Document, changing: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        former = active_space()

        done = reembed("--new-encoder")

        space = active_space()
        assert (done["changed_over"], done["active_space"], done["vectors"]) == (True, Narrow.space, 3)
        assert (space.name, space.width) == (Narrow.space, Narrow.width)
        assert PassageVector.objects.filter(space=former).count() == 3, "the former vectors stay"
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)",
                [f"documents_vector_hnsw_{space.pk}"],
            )
            assert cursor.fetchone() == (True,)
        event = AuditEvent.objects.get(action="embedding_space.activated")
        assert event.after["space"] == Narrow.space
        monkeypatch.setattr(execution, "current_embedder", Narrow)
        run = make_run(asker=cast.analyst, document=old)
        assert "embedding" in run.methods_run
        assert reembed("--new-encoder")["passages"] == 0, "and the same command again changes nothing"

    def test_an_endpoint_that_fails_on_the_way_is_gone_on_with(
        self,
        cast: Cast,
        old: Document,
        changing: None,
        fake_llm: FakeLLM,
        settings: Any,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The encoder is at an address of its own; until it has filled its space, questions go on in the former."""
        settings.EMBEDDER_OPENAI_MODEL, settings.EMBEDDER_BASE_URL = "fake-embedding", fake_llm.base_url
        settings.EMBEDDER_DIMENSIONS = 16
        monkeypatch.setattr(command, "current_embedder", embedding.current_embedder.__wrapped__)
        monkeypatch.setattr(reembedding, "BATCH", 1)
        former = active_space()
        fake_llm.fault("bad_request", 2)

        with pytest.raises(CommandError, match=r"1 of 3 passages .* again to continue"):
            reembed("--new-encoder")
        assert active_space() == former
        assert "embedding" in make_run(asker=cast.analyst, document=old).methods_run

        done = reembed("--new-encoder")
        assert (done["changed_over"], done["vectors"], active_space().width) == (True, 2, 16)
        assert active_space().name == f"fake-embedding@127.0.0.1:{fake_llm.port}/16"

        settings.EMBEDDER_DIMENSIONS = 4001
        with pytest.raises(CommandError, match="at most 4000 can be indexed"):
            reembed("--new-encoder")

    def test_one_collection_is_not_enough(self, cast: Cast, old: Document, changing: None) -> None:
        make_document(collection=cast.beta, owner=cast.analyst, name="other.txt")
        former = active_space()

        done = reembed("--new-encoder", "--collection", cast.beta.slug)

        assert (done["changed_over"], done["left"]) == (False, 3)
        assert active_space() == former

    def test_a_document_that_was_being_read_is_not_left_without_vectors(
        self, cast: Cast, old: Document, changing: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = ContentFile(b"bytes", name="late.txt")
        late = document_upload(actor=cast.analyst, collection=cast.alpha, file=file, name="late.txt").document
        finish = ingest._finish

        def changed_over_meanwhile(*args: Any, **kwargs: Any) -> None:
            reembed("--new-encoder")
            finish(*args, **kwargs)

        monkeypatch.setattr(ingest, "_parse", lambda document, **_: parsed())
        monkeypatch.setattr(ingest, "current_embedder", HashEmbedder)
        monkeypatch.setattr(ingest, "_finish", changed_over_meanwhile)
        document_ingest(document_id=late.pk)

        late.refresh_from_db()
        assert (late.status, late.failure_code) == ("failed", "embedding_space")
        assert Narrow.space in late.failure_reason

    def test_a_question_is_not_asked_with_vectors_that_do_not_compare(
        self, cast: Cast, old: Document, changing: None
    ) -> None:
        reembed("--new-encoder")

        run = make_run(asker=cast.analyst, document=old)

        assert run.status == "failed"
        assert HashEmbedder.space in run.failure_reason
        assert "reembed --new-encoder" in run.failure_reason


def test_only_a_new_encoder_needs_the_owner() -> None:
    assert connects_as_owner(["manage.py", "reembed", "--new-encoder"])
    assert not connects_as_owner(["manage.py", "reembed", "--collection", "papers"])
