"""What search keeps of the text: vectors, hashes and words. All of it is derived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q
from pgvector.django import VectorField

if TYPE_CHECKING:
    pass

from .documents import Collection, Document
from .text import Passage


def _between_blanks(field: str) -> models.Func:
    """Splits a text of pieces between blanks."""
    pieces = ArrayField(models.TextField())
    return models.Func(field, models.Value(" "), function="string_to_array", output_field=pieces)


class EmbeddingSpace(models.Model):
    """One encoder at one revision; its vectors compare only with each other."""

    name = models.CharField(max_length=160, unique=True)
    width = models.PositiveIntegerField()
    is_active = models.BooleanField(default=False)
    thresholds = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["is_active"], condition=Q(is_active=True), name="one_active_space"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class PassageVector(models.Model):
    """A passage's unit vector in a space. Collection and document are duplicated here for filtered search."""

    passage = models.ForeignKey(Passage, on_delete=models.CASCADE, related_name="vectors", db_index=False)
    space = models.ForeignKey(
        EmbeddingSpace, on_delete=models.CASCADE, related_name="vectors", db_index=False
    )
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="+")
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="+")
    # Without a fixed width, so that several spaces share the table; each has an HNSW index of its own.
    embedding = VectorField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["passage", "space"], name="one_vector_per_space"),
        ]
        indexes = [
            models.Index(fields=["space", "document"]),
            models.Index(fields=["space", "collection"]),
        ]


class PassageTokens(models.Model):
    """The packed token vectors of a passage in a space (:class:`arbitration.late_interaction.PassageTokens`). They are
    separate from the passage vector, so that older documents get them without changing its index."""

    passage = models.ForeignKey(Passage, on_delete=models.CASCADE, related_name="tokens", db_index=False)
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.CASCADE, related_name="+", db_index=False)
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="+")
    packed = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["passage", "space"], name="one_set_of_tokens_per_space"),
        ]


class Sketch(models.Model):
    """Hashes of a document's text for finding near-duplicates (:mod:`workbench.documents.likeness`)."""

    document = models.OneToOneField(Document, on_delete=models.CASCADE, primary_key=True)
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="+", db_index=False)
    hashes = ArrayField(models.BigIntegerField())

    class Meta:
        indexes = [GinIndex(fields=["hashes"], name="sketch_by_hash")]


class Likeness(models.Model):
    """Two near-duplicates in a collection. ``share`` is the fraction of word sequences they have in common, in [0,
    1]."""

    first = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="+")
    share = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="likeness_once"),
            models.CheckConstraint(condition=Q(first__lt=F("second")), name="likeness_of_two_documents"),
            models.CheckConstraint(condition=Q(share__gte=0, share__lte=1), name="likeness_is_a_share"),
        ]


class IndexedDocument(models.Model):
    """A document in the word index of the database (:mod:`workbench.documents.lexical_database`), and the state in
    which it was indexed.

    This table and the next two are derived. Emptied, they are filled again. They stay empty if each host keeps its own
    index.
    """

    document = models.OneToOneField(Document, on_delete=models.CASCADE, primary_key=True, related_name="+")
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="+")
    version = models.PositiveSmallIntegerField()
    language = models.CharField(max_length=8)
    finished_at = models.DateTimeField(null=True)
    passages = models.PositiveIntegerField()
    sections = models.PositiveIntegerField()
    lines = models.PositiveIntegerField()


class IndexedText(models.Model):
    """A passage or title with its searchable words and parts, each a run of letters or digits between blanks. Its BM25
    indexes need an extension, so the command that moves an installation here creates them."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="+")
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.PositiveSmallIntegerField()
    words = models.TextField()
    parts = models.TextField()
    # Data of a hit, as JSON.
    payload = models.TextField()

    class Meta:
        indexes = [
            models.Index(fields=["collection", "kind"], name="indexed_of_collection"),
            GinIndex(_between_blanks("words"), name="indexed_words"),
            GinIndex(_between_blanks("parts"), name="indexed_parts"),
        ]


class IndexedPart(models.Model):
    """A part that occurs in a document. Words written in pieces are only searched in existing pieces."""

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="+")
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.PositiveSmallIntegerField()
    part = models.TextField()

    class Meta:
        indexes = [
            models.Index(
                fields=["collection", "kind", "part"],
                opclasses=["int8_ops", "int2_ops", "text_pattern_ops"],
                name="indexed_part",
            )
        ]
