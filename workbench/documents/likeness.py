"""Documents of one collection that are nearly the same text.

Each document has a sketch: the smallest of the hashes of its runs of five words (Broder, "On the resemblance and
containment of documents", 1997). How many of the smallest hashes of two documents together belong to both estimates
the share of runs that both have, whatever their length. A sketch is made in one pass over the text; documents that
share a hash are found by an index. Only documents of the same collection are compared.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice, tee

from django.core.cache import caches
from django.db import transaction
from django.db.models import Q

from arbitration.text import normalise
from workbench.accounts.models import User

from .models import Document, DocumentStatus, Likeness, Line, Sketch
from .restrictions import open_to

#: Hashes of a sketch, words of a run, and the share of common runs from which two texts are nearly the same.
SIZE, RUN, NEAR = 128, 5, 0.5
#: Documents that one document is compared with, those that share most hashes first, and that are kept.
_COMPARED, _KEPT = 200, 20
_AT_ONCE = 20
#: Whether this process found that every document has its sketch, and seconds until it looks again.
_NONE_LEFT, _LOOK_AGAIN = "documents.sketched", 3600
_WORD = re.compile(r"\w+")


def sketch_of(texts: Iterable[str]) -> list[int]:
    """The smallest hashes of a text's runs of words, ascending; few for a short text. Linear in the text."""
    smallest: list[int] = []  # a heap of the negated hashes: the largest one kept comes first
    kept: set[int] = set()
    for run in _runs(word for text in texts for word in _WORD.findall(normalise(text).casefold())):
        value = int.from_bytes(blake2b(run.encode(), digest_size=8).digest(), "big", signed=True)
        if value in kept or (len(kept) == SIZE and value > -smallest[0]):
            continue
        kept.add(value)
        if len(kept) <= SIZE:
            heapq.heappush(smallest, -value)
        else:
            kept.discard(-heapq.heappushpop(smallest, -value))
    return sorted(kept)


def _runs(words: Iterator[str]) -> Iterator[str]:
    copies = [islice(copy, start, None) for start, copy in enumerate(tee(words, RUN))]
    return (" ".join(run) for run in zip(*copies, strict=False))


def resemblance(one: Sequence[int], other: Sequence[int]) -> float:
    """The estimated share of runs that two texts have in common, of all runs of both; in [0, 1]."""
    first, second = set(one), set(other)
    together = sorted(first | second)[:SIZE]
    return sum(1 for value in together if value in first and value in second) / max(1, len(together))


def document_sketch(*, document: Document, hashes: Sequence[int]) -> None:
    """Stores the sketch of a document's text, and its near-duplicates in the collection. Call it when the document
    becomes ready. Documents of a collection wait for each other here, so that of two new ones the second sees the
    first."""
    with transaction.atomic():
        sketch, _is_new = Sketch.objects.update_or_create(
            document=document, defaults={"collection_id": document.collection_id, "hashes": list(hashes)}
        )
        Likeness.objects.filter(Q(first=document) | Q(second=document)).delete()
        Likeness.objects.bulk_create(_likenesses(sketch), ignore_conflicts=True)


def earlier_documents_sketch() -> int:
    """Sketches some documents that were ready before sketches existed. Returns their number. If none is left, the
    process looks again after :data:`_LOOK_AGAIN` seconds, because the query reads every document."""
    if caches["process"].get(_NONE_LEFT):
        return 0
    documents = Document.objects.ready().filter(sketch__isnull=True).order_by("pk")[:_AT_ONCE]
    for document in documents:
        lines = Line.objects.filter(document=document, is_furniture=False, is_hidden=False)
        texts = lines.order_by("page_num", "line_num").values_list("text", flat=True)
        document_sketch(document=document, hashes=sketch_of(texts.iterator(chunk_size=5_000)))
    if not documents:
        caches["process"].set(_NONE_LEFT, True, timeout=_LOOK_AGAIN)
    return len(documents)


def _likenesses(sketch: Sketch) -> list[Likeness]:
    others = Sketch.objects.filter(collection=sketch.collection_id, hashes__overlap=sketch.hashes)
    others = others.exclude(pk=sketch.pk).order_by("-pk")[:_COMPARED]
    found = [(resemblance(sketch.hashes, other.hashes), other.pk) for other in others]
    return [
        Likeness(first_id=min(sketch.pk, pk), second_id=max(sketch.pk, pk), share=share)
        for share, pk in heapq.nlargest(_KEPT, found)
        if share >= NEAR
    ]


def likenesses_of(documents: Iterable[Document], *, user: User) -> dict[int, list[tuple[Document, float]]]:
    """Near-duplicates of each document in its collection that the person can see, most alike first, without other
    versions of it. One query."""
    keys = {document.pk for document in documents}
    rows = Likeness.objects.filter(Q(first__in=keys) | Q(second__in=keys)).select_related("first", "second")
    rows = rows.filter(open_to(user, "first"), open_to(user, "second"))
    found: dict[int, list[tuple[Document, float]]] = {}
    for row in rows.order_by("-share", "pk"):
        for own, other in ((row.first, row.second), (row.second, row.first)):
            if own.pk in keys and _is_told(own, other):
                found.setdefault(own.pk, []).append((other, row.share))
    return found


def _is_told(own: Document, other: Document) -> bool:
    return (
        own.status == other.status == DocumentStatus.READY
        and own.collection_id == other.collection_id
        and own.pk != other.version_of_id
        and other.pk != own.version_of_id
    )
