"""The word index of this installation (``SEARCH_BACKEND``)."""

from __future__ import annotations

import structlog
from django.conf import settings
from django.db import DatabaseError

from . import lexical, lexical_database
from .models import Collection
from .text_index import TextIndex

logger = structlog.get_logger(__name__)
DATABASE = "database"


def is_in_database() -> bool:
    """Whether the database searches words itself."""
    return bool(settings.SEARCH_BACKEND == DATABASE)


def text_index(collection: Collection, *, epoch: int | None = None) -> TextIndex:
    """The collection's index, up to date with the documents, or with the epoch that was just read."""
    if is_in_database():
        return lexical_database.database_index(collection, epoch=epoch)
    return lexical.lexical_index(collection, epoch=epoch)


def document_index(*, document_id: int) -> None:
    """Adds a document that has just become ready to the database's index. An index on disk follows on its own. A
    failure does no harm: the next question makes up for it."""
    if not is_in_database():
        return
    try:
        lexical_database.document_write(document_id)
    except DatabaseError as error:
        logger.warning("words.not_indexed", document_id=document_id, error=type(error).__name__)
