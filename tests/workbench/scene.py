"""A finished run in a collection, made through the product's own steps from a hand-made document.

No parser and no encoder: the document's rows are written as ingestion writes them, and the vectors are those of a
small deterministic embedder, so that tests of pages and decisions are quick and the same everywhere.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models.functions import Now
from django.test import override_settings

from arbitration.documents import Line, Page, ParsedDocument, Passage, Section
from arbitration.protocols import TokenVectors
from tests.workbench.cast import Cast, create_cast
from workbench.accounts.models import User
from workbench.checklists.models import Round
from workbench.checklists.services import question_set_create, round_fill, round_start
from workbench.documents import ingest
from workbench.documents.models import Collection, Document, DocumentStatus, PassageVector
from workbench.documents.services import index_epoch_bump
from workbench.review.comparison import comparison_start
from workbench.review.services import candidate_approve
from workbench.runs import execution, strategies
from workbench.runs.execution import run_answer, run_arbitrate, run_detect
from workbench.runs.models import Comparison, Run
from workbench.runs.services import question_ask
from workbench.synonyms.models import DictionaryEntry

TEXT = {
    "1 Purpose": [
        "This policy says how access records are kept.",
        "It applies to every system that holds client data.",
    ],
    "2 Retention": [
        "Access records are kept for twenty-four months.",
        "The period starts on the day of the access.",
        "Payment records are kept for ten years.",
    ],
    "3 Deletion": [
        "At the end of the period the records are deleted within thirty days.",
        "A legal hold stops the deletion until it is lifted.",
    ],
}


class HashEmbedder:
    """Unit vectors from the hashes of a text's words: near when words are shared."""

    space = "all-MiniLM-L6-v2-int8@8199be6f/384"
    width = 384

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One vector per text."""
        rows = np.zeros((len(texts), self.width), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[int(hashlib.sha256(word.strip(".,?").encode()).hexdigest(), 16) % self.width] += 1
            row /= np.linalg.norm(row) or 1.0
        return rows


class TokenHashEmbedder(HashEmbedder):
    """Gives each word a vector of its own too."""

    gives_tokens = True

    def embed_tokens(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.float32], list[TokenVectors]]:
        """Vectors of the texts, and of their words."""
        return self.embed(texts), [self._tokens(text) for text in texts]

    def _tokens(self, text: str) -> TokenVectors:
        found = list(re.finditer(r"\S+", text))
        numbers = [int(hashlib.sha256(word[0].encode()).hexdigest()[:4], 16) for word in found]
        return TokenVectors(
            ids=np.array(numbers, dtype=np.int32),
            vectors=self.embed([word[0] for word in found]),
            offsets=np.array([word.span() for word in found], dtype=np.int32).reshape(-1, 2),
        )


def parsed(text: dict[str, list[str]] = TEXT) -> ParsedDocument:
    """A document of one page: each heading a section, each section one passage."""
    lines: list[Line] = []
    sections: list[Section] = []
    passages: list[Passage] = []
    for number, (title, body) in enumerate(text.items(), start=1):
        first = len(lines) + 1
        for content in [title, *body]:
            top = 40.0 + 16 * len(lines)
            lines.append(
                Line(
                    page_num=1,
                    line_num=len(lines) + 1,
                    text=content,
                    x0=60,
                    y0=top,
                    x1=60 + 5 * len(content),
                    y1=top + 12,
                    character_count=len(content),
                    section_id=f"s{number}",
                )
            )
        sections.append(
            Section(
                section_id=f"s{number}",
                level=1,
                title=title,
                breadcrumb=title,
                start_page=1,
                end_page=1,
                start_line=first,
            )
        )
        passages.append(
            Passage(
                ordinal=number - 1,
                page_start=1,
                line_start=first,
                page_end=1,
                line_end=len(lines),
                section_id=f"s{number}",
                text="\n".join([title, *body]),
            )
        )
    page = Page(page_num=1, text="\n".join(line.text for line in lines), width=612, height=792)
    return ParsedDocument(
        kind="text",
        title="Access records policy",
        toc_source="headings",
        pages=(page,),
        lines=tuple(lines),
        sections=tuple(sections),
        passages=tuple(passages),
    )


def make_document(
    *, collection: Collection, owner: User, name: str = "policy.txt", text: dict[str, list[str]] = TEXT
) -> Document:
    """A ready document with rows and vectors, as ingestion leaves it."""
    content = "\n".join(f"{title}\n" + "\n".join(body) for title, body in text.items()).encode()
    document = Document(
        collection=collection,
        sha256=hashlib.sha256(content + name.encode()).hexdigest(),
        name=name,
        size=len(content),
        uploaded_by=owner,
    )
    document.file.save(f"{collection.pk}/{document.sha256}", ContentFile(content), save=False)
    document.save()
    record = parsed(text)
    ingest._store(document, record)
    space, embedder = ingest.active_space(), HashEmbedder()
    passages = list(document.passages.all())
    PassageVector.objects.bulk_create(
        PassageVector(
            passage=passage,
            space=space,
            document=document,
            collection=collection,
            embedding=vector.tolist(),
        )
        for passage, vector in zip(passages, embedder.embed([p.text for p in passages]), strict=True)
    )
    Document.objects.filter(pk=document.pk).update(
        status=DocumentStatus.READY,
        title=record.title,
        kind=record.kind,
        toc_source=record.toc_source,
        page_count=1,
        line_count=len(record.lines),
        section_count=len(record.sections),
        section_depth=1,
        passage_count=len(record.passages),
        finished_at=Now(),
    )
    index_epoch_bump(collection_ids=[collection.pk])
    document.refresh_from_db()
    return document


@dataclass(frozen=True, slots=True)
class Scene:
    """A collection's document and a finished run on it."""

    document: Document
    run: Run
    comparison: Comparison
    round: Round
    entry: DictionaryEntry


def make_run(
    *, asker: User, document: Document, text: str = "How long are access records kept?", **options: object
) -> Run:
    """Asks and carries out the stages here, one after another."""
    outcome = question_ask(
        actor=asker,
        collection=document.collection,
        document=document,
        text=text,
        strategy="offline",
        **options,  # type: ignore[arg-type]
    )
    for stage in (run_detect, run_arbitrate, run_answer):
        stage(run_id=outcome.run.pk)
    return Run.objects.select_related("question__document", "collection").get(pk=outcome.run.pk)


def work_here(monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[str, Any]:
    """Everything in this process: a small embedder, detectors one after another, no broker. Gives the settings that
    put files and index into the folder."""
    engine_settings = strategies.engine_settings

    def in_this_thread(**arguments: Any) -> Any:
        return engine_settings(**arguments).model_copy(update={"concurrent": False})

    monkeypatch.setattr(execution, "current_embedder", HashEmbedder)
    monkeypatch.setattr("workbench.runs.services.engine_settings", in_this_thread)
    monkeypatch.setattr("workbench.infra.dispatch.dispatch", lambda *args, **kwargs: True)
    monkeypatch.setattr("workbench.infra.leases.Heartbeat._renew", lambda self: None)
    files = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(folder / "files")},
    }
    return {"WORKBENCH_HOME": folder, "STORAGES": settings.STORAGES | {"default": files}}


@contextmanager
def standing_scene(folder: Path) -> Iterator[tuple[Cast, Scene]]:
    """Cast and scene for many tests, in a transaction around theirs: each takes back only what it did itself.

    For modules whose tests do not change the objects in memory. Database access must be open.
    """
    with (
        pytest.MonkeyPatch.context() as patch,
        override_settings(**work_here(patch, folder)),
        transaction.atomic(),
    ):
        cast = create_cast()
        yield cast, make_scene(cast)
        transaction.set_rollback(True)


def make_scene(cast: Cast) -> Scene:
    """A finished run of alpha with a decision on it, a comparison and a round of a question set."""
    document = make_document(collection=cast.alpha, owner=cast.analyst)
    run = make_run(asker=cast.analyst, document=document)
    decided = run.candidates.filter(verdict__role__isnull=False).first()
    candidate_approve(actor=cast.reviewer, candidate=decided)
    comparison = comparison_start(
        actor=cast.analyst,
        collection=cast.alpha,
        document=document,
        text=run.question.text,
        strategies=["offline", "bm25"],
    )
    question_set = question_set_create(
        actor=cast.analyst, collection=cast.alpha, name="Records", questions=[run.question.text]
    )
    round_ = round_start(
        actor=cast.analyst, question_set=question_set, documents=[document], strategy="offline"
    )
    round_fill(round_id=round_.pk)
    entry = DictionaryEntry.objects.create(
        collection=cast.alpha, term="log", variant="access records", proposed_by=cast.admin
    )
    return Scene(document=document, run=run, comparison=comparison, round=round_, entry=entry)
