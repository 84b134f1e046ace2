"""Old documents get what this version, or another encoder, computes of a passage: its vector, and those of its tokens.

What is there is left alone, and each batch is committed by itself, so that the work may be stopped at any moment and
goes on where it was. A new encoder's space is filled beside the active one, and becomes active in one step once no
passage lacks its vector.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import ProgrammingError, connection, transaction
from django.db.models import BinaryField, Count, Exists, Func, OuterRef, Q, QuerySet, Value
from django.utils.translation import gettext as _

from arbitration.late_interaction import gives_tokens, packed_layout
from arbitration.protocols import Embedder
from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import NotAllowed

from .distribution import is_cluster
from .embedding import active_space, require_encoder_of, require_indexable
from .models import (
    Collection,
    Document,
    DocumentStatus,
    EmbeddingSpace,
    Passage,
    PassageTokens,
    PassageVector,
)
from .tokens import PlacedPassage, passages_embed, placed_passages
from .vectors import tokens_write, vectors_write

#: Passages that are embedded, and committed, together.
BATCH = 128
#: Keys of documents that are read at once.
_DOCUMENTS_AT_ONCE = 500


@dataclass(slots=True)
class Reembedded:
    """Progress: how many of the ``documents`` and ``passages`` that lacked something are done, and what they got."""

    space: str
    documents: int
    passages: int
    documents_done: int = 0
    passages_done: int = 0
    vectors: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Reembedding:
    """The work on one space; ``collection`` None means all of them."""

    embedder: Embedder
    space: EmbeddingSpace
    collection: Collection | None = None
    progress: Reembedded = field(init=False)

    def __post_init__(self) -> None:
        lacking = self._lacking()
        found = lacking.aggregate(documents=Count("document", distinct=True), passages=Count("pk"))
        object.__setattr__(self, "progress", Reembedded(self.space.name, **found))

    def steps(self) -> Iterator[Reembedded]:
        """Does the work. Yields the progress after each committed batch."""
        for document in self._documents():
            lacking = set(self._lacking().filter(document=document).values_list("pk", flat=True))
            wanted = [passage for passage in placed_passages(document) if passage.pk in lacking]
            for start in range(0, len(wanted), BATCH):
                chunk = wanted[start : start + BATCH]
                self._write(document, chunk)
                self.progress.passages_done += len(chunk)
                if start + BATCH < len(wanted):
                    yield self.progress
            self.progress.documents_done += 1
            yield self.progress

    def left(self) -> int:
        """Passages of ready documents, of all collections, that have no vector in the space."""
        return _lacking(self.space, has_tokens=False).count()

    def _documents(self) -> Iterator[Document]:
        """Documents that lack something, oldest first, a few at a time."""
        last = 0
        while True:
            keys = list(
                self._lacking()
                .filter(document__gt=last)
                .order_by("document")
                .values_list("document", flat=True)
                .distinct()[:_DOCUMENTS_AT_ONCE]
            )
            if not keys:
                return
            for key in keys:
                if (document := Document.objects.ready().filter(pk=key).first()) is not None:
                    yield document
            last = keys[-1]

    def _lacking(self) -> QuerySet[Passage]:
        rows = _lacking(self.space, has_tokens=gives_tokens(self.embedder))
        return rows if self.collection is None else rows.filter(document__collection=self.collection)

    def _write(self, document: Document, chunk: Sequence[PlacedPassage]) -> None:
        """One batch. What came meanwhile, or was erased with its document, is seen once the document is held."""
        vectors, tokens = passages_embed(chunk, embedder=self.embedder)
        keys = [passage.pk for passage in chunk]
        with transaction.atomic():
            held = Document.objects.select_for_update(no_key=True).ready().filter(pk=document.pk)
            if not held.exists():
                return
            rows = Passage.objects.filter(pk__in=keys, document=document)
            bare = set(rows.filter(~_has_vector(self.space)).values_list("pk", flat=True))
            mute = set(rows.filter(~_has_tokens(self.space)).values_list("pk", flat=True))
            places = [place for place, key in enumerate(keys) if key in bare]
            if places:
                vectors_write(
                    space=self.space,
                    collection_id=document.collection_id,
                    document_ids=document.pk,
                    passage_ids=[keys[place] for place in places],
                    vectors=vectors[places],
                )
            packed = [(key, data) for key, data in tokens if key in mute]
            PassageTokens.objects.filter(space=self.space, passage__in=mute).delete()  # of an earlier version
            tokens_write(space=self.space, document_id=document.pk, packed=packed)
        self.progress.vectors += len(places)
        self.progress.tokens += len(packed)


def space_to_fill(*, embedder: Embedder, changes_over: bool) -> EmbeddingSpace:
    """The active space; with ``changes_over`` that of the encoder, made where there is none.

    Raises :class:`.embedding.AnotherEncoder` when the encoder is not the active space's and nobody asked to change
    over.
    """
    active = active_space()
    if not changes_over:
        require_encoder_of(active, embedder=embedder)
    if embedder.space == active.name:
        return active
    require_indexable(embedder.width)
    return EmbeddingSpace.objects.get_or_create(name=embedder.space, defaults={"width": embedder.width})[0]


def space_activate(*, space: EmbeddingSpace, actor: User) -> bool:
    """Makes a filled space the active one; False while a passage of a ready document has no vector in it, or where it
    is active already. Its index must be there (:func:`index_ensure`).

    A document that a worker is just reading ends before the step and is seen here, or after it and is refused
    (:mod:`.ingest`).
    """
    with transaction.atomic():
        former = EmbeddingSpace.objects.select_for_update(no_key=True).get(is_active=True)
        if former == space or _lacking(space, has_tokens=False).exists():
            return False
        EmbeddingSpace.objects.filter(pk=former.pk).update(is_active=False)
        EmbeddingSpace.objects.filter(pk=space.pk).update(is_active=True)
        audit_record(
            actor=actor,
            action=Action.EMBEDDING_SPACE_ACTIVATED,
            obj=space,
            before={"space": former.name},
            after={"space": space.name},
        )
    return True


def index_ensure(*, space: EmbeddingSpace) -> None:
    """The space's HNSW index, made beside the running product. One that an interrupted attempt left is made anew.

    Outside a transaction. Raises :class:`NotAllowed` on a connection that does not own the tables.
    """
    name = f"documents_vector_hnsw_{int(space.pk)}"
    with connection.cursor() as cursor:
        cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [name])
        found = cursor.fetchone()
        if found == (True,):
            return
        try:
            if found:
                cursor.execute(f"DROP INDEX CONCURRENTLY {name}")
            cursor.execute(
                f"CREATE INDEX CONCURRENTLY {name} ON documents_passagevector "
                f"USING hnsw ((embedding::halfvec({int(space.width)})) halfvec_cosine_ops) "
                f"WITH (m = 16, ef_construction = 64) WHERE space_id = {int(space.pk)}"
            )
        except ProgrammingError as error:
            raise NotAllowed(
                _(
                    "The vectors are complete, but only the owner of the tables may make their index. Run the same "
                    "command again with DATABASE_URL set to the owner's address."
                )
            ) from error


def _lacking(space: EmbeddingSpace, *, has_tokens: bool) -> QuerySet[Passage]:
    """Passages of ready documents without a vector in the space, or without tokens where the encoder gives them."""
    condition = Q(~_has_vector(space))
    if has_tokens:
        condition |= Q(~_has_tokens(space))
    return Passage.objects.filter(condition, document__status=DocumentStatus.READY)


def _has_vector(space: EmbeddingSpace) -> Exists | Q:
    return _has_one_of(PassageVector.objects.filter(space=space))


def _has_one_of(made: QuerySet[Any]) -> Exists | Q:
    """Passages of which something was made. On a cluster that lies on other nodes, which no passage can be looked up on
    one by one: the keys are brought together instead."""
    if is_cluster():
        return Q(pk__in=made.values("passage"))
    return Exists(made.filter(passage=OuterRef("pk")))


def _has_tokens(space: EmbeddingSpace) -> Exists | Q:
    """Tokens in the layout that this version writes; of others nothing is read any more."""
    first = Func("packed", template="substring(%(expressions)s from 1 for 1)", output_field=BinaryField())
    of_layout = PassageTokens.objects.annotate(first=first).filter(first=Value(packed_layout()))
    return _has_one_of(of_layout.filter(space=space))
