"""Which rows hold text of a document, and what is left of each of them.

Texts that are the document's own go. Words of models on its candidates go with them; words on other candidates, and
notes of the run, go where they repeat a stretch of the document. Words of people stay: questions, comments, reasons.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import Q

from workbench.api.models import IdempotentRequest
from workbench.documents.lexical_database import document_remove
from workbench.documents.models import Document, Likeness, OfferState, Sketch, VersionOffer
from workbench.review.models import ItemState, QueueItem
from workbench.review.record import text_hash
from workbench.runs.models import (
    Answer,
    Candidate,
    CandidateText,
    LLMCallBody,
    LLMReply,
    Run,
    RunPool,
    Verdict,
)
from workbench.synonyms.models import DictionaryEntry, EntryStatus

#: So many words in a row that also stand in the document are taken for a quotation of it.
QUOTED_WORDS = 5
_WORD = re.compile(r"\w+")
_MARK = "erased, sha256 "


class Quotations:
    """Tells whether a text repeats a stretch of the document: ``QUOTED_WORDS`` words in a row, or a whole line."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._stretches: set[int] = set()
        before: list[str] = []
        for line in lines:
            words = _words(line)
            self._stretches.update(map(hash, _stretches(before + words)))
            before = (before + words)[-(QUOTED_WORDS - 1) :]

    def are_in(self, value: Any) -> bool:
        """Whether the text, or any text in a JSON value, quotes the document."""
        if isinstance(value, str):
            return any(hash(stretch) in self._stretches for stretch in _stretches(_words(value)))
        if isinstance(value, dict):
            return any(map(self.are_in, value)) or any(map(self.are_in, value.values()))
        return isinstance(value, list) and any(map(self.are_in, value))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _stretches(words: list[str]) -> Iterator[tuple[str, ...]]:
    return (tuple(words[n : n + QUOTED_WORDS]) for n in range(len(words) - QUOTED_WORDS + 1))


def erased_mark(text: str) -> str:
    """What stands in the place of a text: the SHA-256 by which a copy can be recognised."""
    return text if not text or text.startswith(_MARK) else f"{_MARK}{text_hash(text)}"


def text_erase(document: Document) -> dict[str, int]:
    """Takes the text out of every table, in the caller's transaction; gives how many rows were emptied or removed.
    Doing it again finds what was written since."""
    quotations = Quotations(document.lines.values_list("text", flat=True).iterator())
    touched = _touched(document)
    figures = _own_rows(document) | _runs(document, touched, quotations) | _models_words(document, touched)
    figures["api_answers"] = _api_answers(document, quotations)
    return {name: count for name, count in figures.items() if count}


def _own_rows(document: Document) -> dict[str, int]:
    offers = VersionOffer.objects.filter(Q(document=document) | Q(older=document), state=OfferState.OPEN)
    # A pair in use is a person's decision; one that was only proposed, or turned down, is the document's phrase.
    proposals = DictionaryEntry.objects.filter(
        Q(status=EntryStatus.PROPOSED) | Q(status=EntryStatus.REJECTED, proposed_by__is_system=True),
        proposed_from__candidate__document=document,
    )
    document_remove(document.pk)
    vectors = document.passages.filter(vectors__isnull=False).values("vectors").count()
    return {
        "lines": document.lines.all().delete()[0],
        "passages": document.passages.all().delete()[0] - vectors,
        "vectors": vectors,
        "pages": document.pages.all().delete()[0],
        "page_drawings": document.drawings.all().delete()[0],
        "sketches": Sketch.objects.filter(document=document).delete()[0],
        "likenesses": Likeness.objects.filter(Q(first=document) | Q(second=document)).delete()[0],
        "sections": document.sections.all().delete()[0],
        "fields": document.fields.all().delete()[0],
        "version_offers": offers.delete()[0],
        "dictionary_proposals": proposals.delete()[0],
    }


def _touched(document: Document) -> set[int]:
    """Keys of the runs that read the document."""
    rows = Run.objects.filter(Q(candidates__document=document) | Q(question__document=document))
    return set(rows.values_list("pk", flat=True))


def _runs(document: Document, touched: set[int], quotations: Quotations) -> dict[str, int]:
    texts = CandidateText.objects.filter(candidate__document=document).delete()[0]
    Candidate.objects.filter(document=document).update(
        section_title="", breadcrumb="", whys={}, matched_keywords=[]
    )
    answers = 0
    for answer in Answer.objects.filter(run__in=touched).exclude(body__has_key="erased"):
        answers += Answer.objects.filter(pk=answer.pk).update(body={"erased": text_hash(answer.body)})
    for run in Run.objects.filter(pk__in=touched).iterator():
        _run_erase(run, document, quotations)
    # Nobody can decide on a text that is gone.
    QueueItem.objects.filter(
        Q(candidate__document=document) | Q(candidate__isnull=True, run__question__document=document),
        state=ItemState.WAITING,
    ).update(state=ItemState.WITHDRAWN, claimed_by=None, claimed_until=None)
    return {
        "candidate_texts": texts,
        "answers": answers,
        "verdicts": _verdicts(document, touched, quotations),
        "pools": RunPool.objects.filter(run__in=touched).delete()[0],
    }


def _run_erase(run: Run, document: Document, quotations: Quotations) -> None:
    """What the run itself says, where it quotes; and it answers no later question any more."""
    own = set(run.candidates.filter(document=document).values_list("candidate_id", flat=True))
    values: dict[str, Any] = {"cache_key": ""}
    for name in ("not_found_reason", "failure_reason"):
        if quotations.are_in(text := getattr(run, name)):
            values[name] = erased_mark(text)
    for name in ("artefacts", "skipped_reasons"):
        if quotations.are_in(getattr(run, name)):
            values[name] = {}
    if quotations.are_in(run.notes):
        values["notes"] = [erased_mark(n) if quotations.are_in(n) else n for n in run.notes]
    values["conflicts"] = [
        pair | {"explanation": erased_mark(pair["explanation"])}
        if own & {pair["first_id"], pair["second_id"]} or quotations.are_in(pair["explanation"])
        else pair
        for pair in run.conflicts
    ]
    type(run).objects.filter(pk=run.pk).update(**values)


def _verdicts(document: Document, touched: set[int], quotations: Quotations) -> int:
    erased = 0
    rows = Verdict.objects.filter(candidate__run__in=touched).select_related("candidate")
    for verdict in rows.iterator():
        words = [verdict.reason, verdict.counter_argument, *(q.get("quote", "") for q in verdict.quotes)]
        words += verdict.injection_words
        if verdict.candidate.document_id != document.pk and not quotations.are_in(words):
            continue
        erased += Verdict.objects.filter(pk=verdict.pk).update(
            reason=erased_mark(verdict.reason),
            counter_argument=erased_mark(verdict.counter_argument),
            quotes=[],
            injection_words=[],
        )
    return erased


def _models_words(document: Document, touched: set[int]) -> dict[str, int]:
    """Prompts and answers of calls that may have held the text, and every kept reply of the collection: a reply does
    not say which document it came from."""
    of_collection = Q(call__collection=document.collection_id)
    bodies = LLMCallBody.objects.filter(
        Q(call__run__in=touched)
        | of_collection & Q(call__run__isnull=True)
        # A model that plans the reading of a collection is shown every outline.
        | Q(call__run__collection=document.collection_id, call__stage="detect")
    )
    return {
        "calls": bodies.delete()[0],
        "replies": LLMReply.objects.filter(collection=document.collection_id).delete()[0],
    }


def _api_answers(document: Document, quotations: Quotations) -> int:
    """Kept answers to repeated requests of programs; what they did is still not done twice."""
    emptied = 0
    for request in IdempotentRequest.objects.filter(body__isnull=False).iterator():
        if quotations.are_in(request.body) or document.name in json.dumps(request.body, ensure_ascii=False):
            emptied += IdempotentRequest.objects.filter(pk=request.pk).update(body=None)
    return emptied
