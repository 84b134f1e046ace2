"""Moves the word index of an installation into the database, or back.

Each document is moved by itself, so the work can be stopped at any time and continued later. Meanwhile the product
keeps using the old index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from django.db import DatabaseError, transaction
from django.utils.translation import gettext as _

from workbench.errors import NotAllowed, Unavailable

from .bm25_indexes import extension_is_there, index_create, indexes_drop, indexes_lacking
from .lexical_database import document_write, documents_lacking
from .models import IndexedDocument, IndexedPart, IndexedText


@dataclass(slots=True)
class Moved:
    """Progress: documents whose words were missing from the database, and how many have been added."""

    documents: int
    done: int = 0


def words_move_in() -> Iterator[Moved]:
    """Adds the words of every ready document to the database, and yields the progress after each commit. Raises
    :class:`Unavailable` if the database cannot rank by BM25."""
    if not extension_is_there():
        raise Unavailable(
            _(
                "The database has no extension pg_textsearch. Install it on the server, add it to "
                "shared_preload_libraries, and run as the server's administrator: CREATE EXTENSION pg_textsearch;"
            )
        )
    lacking = documents_lacking()
    progress = Moved(len(lacking))
    yield progress
    for document_id in lacking:
        document_write(document_id)
        progress.done += 1
        yield progress


def indexes_ensure() -> int:
    """Creates missing BM25 indexes, after the words were added, which is many times faster. Returns how many were
    created. Raises :class:`NotAllowed` on a connection that does not own the tables."""
    lacking = indexes_lacking()
    for kind in lacking:
        _as_owner(partial(index_create, kind))
    return len(lacking)


def words_move_out() -> int:
    """Removes all words from the database. Returns the number of documents. Raises :class:`NotAllowed` likewise."""
    documents = IndexedDocument.objects.count()
    _as_owner(indexes_drop)
    with transaction.atomic():
        for model in (IndexedText, IndexedPart, IndexedDocument):
            model.objects.all()._raw_delete("default")
    return documents


def _as_owner(act: Callable[[], None]) -> None:
    try:
        act()
    except DatabaseError as error:
        raise NotAllowed(
            _(
                "Only the owner of the tables may make or remove their indexes. Run the same command again with "
                "DATABASE_URL set to the owner's address. The database says: %(error)s"
            )
            % {"error": str(error).strip().splitlines()[0]}
        ) from error
