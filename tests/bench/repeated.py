"""The same question again: what the server does from the request to the answer, beside asking it for the first time.

Requests go through the product's own middleware, views and database in one process, without a network. Asked first is
the request and the three stages that a worker does after it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np

from tests.bench.corpora import Corpus
from tests.bench.detection import PreparedEmbedder, new_corpus
from tests.bench.registry import Figure, Size, measurement

PASSAGES = 2_000
QUESTIONS = {"quick": 12, "full": 40}
AGAIN = 8
TARGET_MS = 10.0


@measurement("repeated", needs_services=True)
def measure(size: Size) -> Iterator[Figure]:
    """Medians over questions; of each question the median of its repetitions."""
    import workbench.wsgi  # noqa: F401 - as a web process is set up, the garbage collector included
    from workbench.documents.embedding import current_embedder
    from workbench.runs import execution
    from workbench.runs.models import LLMCall

    corpus = new_corpus()
    corpus.grow(PASSAGES)
    asked = corpus.questions(QUESTIONS[size] + 2)
    encoder = PreparedEmbedder(current_embedder(), dict(asked))
    client = _client(corpus)
    cold, again, records = [], [], []
    with patch.object(execution, "current_embedder", lambda: encoder):
        for text, _vector in asked:
            spent, run = _asked_first(client, corpus, text)
            cold.append(spent)
            embedded, calls = encoder.asked, LLMCall.objects.count()
            again.append(float(np.median([_asked_again(client, corpus, text, run) for _ in range(AGAIN)])))
            records.append(_timed(lambda run=run: client.get(f"/api/v1/runs/{run}/record/"))[0])
            if (encoder.asked, LLMCall.objects.count()) != (embedded, calls):
                raise RuntimeError("a repeated question embedded something or called a model")
    p50, p95 = np.quantile(again[2:], (0.5, 0.95))
    beside = f"asked first: {np.median(cold[2:]):.0f} ms"
    yield Figure("a repeated question: p50", float(p50), "ms", TARGET_MS, "at most", beside)
    yield Figure("a repeated question: p95", float(p95), "ms", beside=beside)
    yield Figure("embeddings and model calls of repeated questions", 0, "", 0, "at most")
    yield Figure("the complete record of its run: p50", float(np.median(records[2:])), "ms")


def _client(corpus: Corpus) -> Any:
    from django.test import Client

    from workbench.accounts.models import MemberRole, Membership, User

    user = User.objects.create_user(f"bench-{time.time_ns()}@example.org")
    Membership.objects.create(user=user, collection=corpus.collection, role=MemberRole.ANALYST)
    client = Client()
    client.force_login(user)
    return client


def _ask(client: Any, corpus: Corpus, text: str) -> Any:
    body = {"collection": corpus.collection.slug, "text": text, "strategy": "offline"}
    return client.post("/api/v1/questions/", body, content_type="application/json")


def _asked_first(client: Any, corpus: Corpus, text: str) -> tuple[float, int]:
    from workbench.runs.execution import run_answer, run_arbitrate, run_detect

    started = time.perf_counter()
    answer = _ask(client, corpus, text)
    if answer.status_code != 201:
        raise RuntimeError(f"a new question was answered by {answer.status_code}: {answer.content[:300]!r}")
    run = int(answer.json()["run"]["id"])
    for stage in (run_detect, run_arbitrate, run_answer):
        stage(run_id=run)
    return 1000 * (time.perf_counter() - started), run


def _asked_again(client: Any, corpus: Corpus, text: str, run: int) -> float:
    spent, answer = _timed(lambda: _ask(client, corpus, text))
    if answer.status_code != 200 or answer.json()["run"]["id"] != run:
        raise RuntimeError(f"run {run} should have answered; it was {answer.status_code}")
    return spent


def _timed(work: Any) -> tuple[float, Any]:
    started = time.perf_counter()
    done = work()
    return 1000 * (time.perf_counter() - started), done
