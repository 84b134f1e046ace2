"""What an answer depends on besides question and engine: documents, dictionary, thresholds, weights and model.

One query reads all of it except the model, so that a repeated question costs little more than finding its run. Nothing
is cached between questions: an alias approved a moment ago changes the very next key.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.db import connection

from workbench.collection_settings.bars import changes_of
from workbench.collection_settings.models import THRESHOLDS
from workbench.collection_settings.selectors import weights_given
from workbench.documents.models import Collection, Document, DocumentStatus
from workbench.synonyms.models import EntryStatus

from .reranking import reranker_state


@dataclass(frozen=True, slots=True)
class AnswerState:
    """The parts of a cache key that come from the database. Digests are SHA-256, or empty. ``scope`` is the state of
    the document or collection asked, ``space`` the name of the current embedding space, ``bars`` the collection's
    changes to the engine settings, ``reranker`` the name and digest of the champion or ``rules``. ``has_documents``: at
    least one document of the collection can be asked."""

    scope: tuple[Any, ...]
    has_documents: bool
    weights: dict[str, float]
    space: str
    dictionary: str
    gates: str
    bars: dict[str, float | int]
    reranker: str


def answer_state(*, collection: Collection, document: Document | None) -> AnswerState:
    """The current state, read afresh from the database."""
    asked = document.pk if document else None
    with connection.cursor() as cursor:
        cursor.execute(_STATE, _CONSTANTS | {"collection": collection.pk, "document": asked})
        row = cursor.fetchone()
    if row is None:
        raise Collection.DoesNotExist(f"collection {collection.pk} is gone, or no embedding space is in use")
    epoch, has_documents, weights, space, dictionary, gates, bars, of_document = row
    return AnswerState(
        scope=("document", asked, of_document) if document else ("collection", collection.pk, epoch),
        has_documents=has_documents,
        weights=weights_given(json.loads(weights)),
        space=space,
        dictionary=dictionary or "",
        gates=gates or "",
        bars=changes_of(json.loads(bars or "[]")),
        reranker=reranker_state(),
    )


def _digest(value: str) -> str:
    return f"encode(sha256(convert_to(({value})::text, 'UTF8')), 'hex')"


#: Of a document: its bytes, its last parse, and what prompts are told about it. Of thresholds: not who set them when.
_OF_DOCUMENT = _digest(
    "json_build_array(d.sha256, d.finished_at AT TIME ZONE 'UTC', d.name, d.document_type, d.issuer,"
    " d.effective_date, d.language)"
)
_OF_PAIRS = _digest("json_agg(json_build_array(e.term, e.variant) ORDER BY e.term, e.variant, e.id)")
_OF_GATES = _digest(
    f"json_build_array(g.name, g.bias, g.evidence_lost, {', '.join(f'g.{name}' for name in THRESHOLDS)})"
)
_STATE = f"""
    SELECT c.index_epoch,
           EXISTS (SELECT FROM documents_document r WHERE r.collection_id = c.id AND r.status = %(ready)s),
           c.criteria_weights::text,
           s.name,
           (SELECT {_OF_PAIRS} FROM vocabulary_dictionaryentry e
            WHERE e.collection_id = c.id AND e.status = %(approved)s),
           (SELECT {_OF_GATES} FROM collection_settings_collectiongates g
            WHERE g.collection_id = c.id AND g.space = s.name),
           (SELECT json_agg(json_build_array(b.decides, b.measure, b.bar) ORDER BY b.id)::text
            FROM collection_settings_collectionbar b WHERE b.collection_id = c.id AND b.space = s.name),
           (SELECT {_OF_DOCUMENT} FROM documents_document d WHERE d.id = %(document)s)
    FROM documents_collection c
    CROSS JOIN documents_embeddingspace s
    WHERE c.id = %(collection)s AND s.is_active
"""  # noqa: S608  (constants only)
_CONSTANTS = {
    "ready": str(DocumentStatus.READY),
    "approved": str(EntryStatus.APPROVED),
}
