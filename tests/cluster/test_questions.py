"""A hundred questions in people's own words over real documents: the cluster finds what a single node finds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import override_settings

from tests.cluster.conftest import IS_THERE
from workbench.accounts.models import MemberRole, Membership, User
from workbench.documents.ingest import document_ingest
from workbench.documents.lexical import lexical_index
from workbench.documents.lexical_database import DatabaseTextIndex
from workbench.documents.models import Collection, DocumentStatus
from workbench.documents.services import document_upload
from workbench.documents.text_index import Hit
from workbench.runs.execution import run_detect
from workbench.runs.models import Run, RunStatus
from workbench.runs.services import question_ask

pytestmark = pytest.mark.skipif(not IS_THERE, reason="no cluster; make cluster-test starts one")
QUESTIONS = 100
#: Documents of this size are read in seconds; the others are asked about too, where nothing answers.
LARGEST = 60_000


@pytest.fixture(scope="module")
def person() -> User:
    return User.objects.create(email="natural@example.org", name="Natural")


@pytest.fixture(scope="module")
def collection(shared_data: Path, person: User, _here: None) -> Collection:
    collection = Collection.objects.create(slug="natural", name="Natural")
    for role in (MemberRole.ADMIN, MemberRole.ANALYST):
        Membership.objects.create(user=person, collection=collection, role=role)
    for name in dict.fromkeys(label["doc"] for label in _labels(shared_data)):
        path = shared_data / name
        if path.stat().st_size <= LARGEST and path.suffix != ".pdf":
            file = ContentFile(path.read_bytes())
            document = document_upload(
                actor=person, collection=collection, file=file, name=path.name
            ).document
            document_ingest(document_id=document.pk)
            document.refresh_from_db()
            assert document.status == DocumentStatus.READY, f"{name}: {document.failure_reason}"
    return collection


def _labels(shared_data: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (shared_data / "natural" / "labels.jsonl").open()]


@pytest.fixture(scope="module")
def questions(shared_data: Path) -> list[str]:
    """Those about the smallest documents first, which are the ones that were read."""
    labels = sorted(_labels(shared_data), key=lambda label: (shared_data / label["doc"]).stat().st_size)
    return [label["question"] for label in labels][:QUESTIONS]


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch, collection: Collection) -> list[str]:
    """Whatever is asked of the words in the database is asked of an index on this host too. Gives those searches that
    found something else."""
    differing: list[str] = []

    def watch(name: str) -> None:
        inner = getattr(DatabaseTextIndex, name)

        def call(index: DatabaseTextIndex, **asked: Any) -> Any:
            asked = {
                key: list(value) if isinstance(value, Iterator) else value for key, value in asked.items()
            }
            found, expected = inner(index, **asked), getattr(lexical_index(collection), name)(**asked)
            if name == "search":
                found, expected = list(found), list(expected)
                same = _above_a_tie(found, asked["limit"]) == _above_a_tie(expected, asked["limit"])
            elif name == "payloads":
                found = [list(payloads) for payloads in found]
                same = list(map(_keys, found)) == list(map(_keys, expected))
            else:
                same = found == expected
            if not same:
                differing.append(f"{name}({asked})")
            return found

        monkeypatch.setattr(DatabaseTextIndex, name, call)

    for name in ("search", "counts", "payloads"):
        watch(name)
    return differing


def test_a_hundred_questions_find_the_same_candidates(
    collection: Collection, person: User, questions: list[str], searches: list[str]
) -> None:
    """Each of their searches finds the same entries with the same scores, but for those that share the last score:
    which of these are taken is chance, and nothing else may make the candidates differ."""
    differing = []
    for question in questions:
        found = {}
        for backend in ("database", "embedded"):
            with override_settings(SEARCH_BACKEND=backend):
                run = _detected(person, collection, question)
            found[backend] = (
                set(run.candidates.values_list("candidate_id", flat=True)),
                run.not_found_reason,
            )
        (candidates, absent), (expected, reason) = found["database"], found["embedded"]
        assert absent == reason, question
        assert searches == [], question
        if candidates != expected:
            differing.append(question)
    print(f"{len(differing)} of {len(questions)} questions differ in a candidate, by ties")


def _detected(person: User, collection: Collection, question: str) -> Run:
    run = question_ask(
        actor=person, collection=collection, text=question, strategy="offline", use_cache=False
    ).run
    run_detect(run_id=run.pk)
    run.refresh_from_db()
    assert run.status == RunStatus.DETECTED, run.failure_reason
    return run


def _keys(payloads: Iterable[dict[str, Any]]) -> set[Any]:
    return {payload.get("id") or payload["section_id"] for payload in payloads}


def _above_a_tie(hits: list[Hit], limit: int) -> dict[tuple[int, Any], Any]:
    """The entries by their scores, but for those that share the last score of a full list."""
    last = round(hits[-1].score, 3) if len(hits) == limit else 0.0
    return {
        (hit.document_pk, hit.payload.get("id") or hit.payload["section_id"]): pytest.approx(
            hit.score, rel=1e-3
        )
        for hit in hits
        if round(hit.score, 3) > last
    }
