"""Pages with 100,000 candidates waiting: one reviewer alone, then fifty who read for five seconds between two pages.

Times are those a browser waits for the document: from the request to the last byte, over the loopback, with the
product's own web process and its database on this machine.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx2 as httpx
import psycopg

from tests.bench.registry import Figure, Size, measurement
from tests.bulk import analyse, copy_runs
from tests.product import RunningProduct, eventually, running_product

CANDIDATES = {"quick": 20_000, "full": 100_000}
REVIEWERS, THINK_SECONDS = 50, 5.0
SECONDS = {"quick": 30.0, "full": 60.0}
ALONE = 40
TARGET_MS = 150.0
MOST_KB = 60.0
QUESTION = "Within how many days must the Client pay an undisputed invoice?"


@measurement("pages")
def measure(size: Size) -> Iterator[Figure]:
    """p50 and p95 of run page, queue and item; bytes of a page as it travels."""
    with running_product() as product:
        demo_ready(product)
        number = fill(product, CANDIDATES[size])
        pages = _pages(product)
        yield Figure("candidates", number, "", beside="copied in the database")
        alone: dict[str, list[float]] = {}
        with closing(product.client("reviewer")) as client:
            for name, path in pages.items():
                alone[name] = [_wait(client, path) for _ in range(ALONE)][3:]
                yield Figure(f"{name}: p50 alone", statistics.median(alone[name]), "ms")
                yield Figure(f"{name}: p95 alone", _p95(alone[name]), "ms", TARGET_MS, "at most")
                yield Figure(f"{name}: compressed", _kilobytes(product, path), "KB", MOST_KB, "at most")
        together = _together(product, pages, seconds=SECONDS[size])
        for name, times in together.items():
            note = f"{len(times)} requests, p95 alone {_p95(alone[name]):.0f} ms"
            yield Figure(
                f"{name}: p95 of {REVIEWERS} reviewers", _p95(times), "ms", TARGET_MS, "at most", note
            )


def demo_ready(product: RunningProduct) -> None:
    """Waits until the five documents of the demo can be asked."""
    ready = "SELECT count(*) FILTER (WHERE status <> 'ready'), count(*) FROM documents_document"
    eventually(lambda: product.rows(ready)[0] == (0, 5), seconds=600, what="the demo is ready")


def fill(product: RunningProduct, candidates: int) -> int:
    """Asks the demo a question and copies its run until so many candidates wait; gives their number."""
    with closing(product.client("analyst")) as client:
        answer = client.post(
            "/api/v1/questions/", json={"collection": "demo", "text": QUESTION, "strategy": "offline"}
        )
        assert answer.status_code in {200, 201, 202}, answer.text
    done = "SELECT max(id) FROM questions_run WHERE status = 'done'"
    eventually(lambda: product.rows(done)[0][0], seconds=120, what="the question is answered")
    run = int(product.rows(done)[0][0])
    each = int(product.rows("SELECT count(*) FROM questions_candidate WHERE run_id = %s", run)[0][0])
    with psycopg.connect(product.database_url()) as connection:
        copy_runs(connection, source=run, copies=candidates // each)
        connection.commit()
        analyse(connection)
    return int(product.rows("SELECT count(*) FROM questions_candidate")[0][0])


def _pages(product: RunningProduct) -> dict[str, str]:
    run = product.rows("SELECT max(id) FROM questions_run")[0][0]
    item = product.rows("SELECT max(id) FROM review_queueitem WHERE is_required AND state = 'waiting'")[0][0]
    return {
        "run page": f"/runs/{run}/",
        "queue": "/queue/",
        "queue, everything by role": "/queue/?show=all&role=discarded",
        "queue item": f"/queue/{item}/",
        "home": "/",
        "runs": "/runs/",
        "trust": "/trust/",
    }


def _wait(client: httpx.Client, path: str) -> float:
    started = time.perf_counter()
    answer = client.get(path)
    spent = 1000 * (time.perf_counter() - started)
    assert answer.status_code == 200, f"{path}: {answer.status_code}"
    return spent


def _kilobytes(product: RunningProduct, path: str) -> float:
    with closing(product.client("reviewer")) as client:
        answer = client.get(path, headers={"Accept-Encoding": "br, gzip"})
        return answer.num_bytes_downloaded / 1000


def _together(product: RunningProduct, pages: dict[str, str], *, seconds: float) -> dict[str, list[float]]:
    """Everybody for that long, each beginning at another moment and going round the pages."""
    times: dict[str, list[float]] = {name: [] for name in pages}
    lock, stop = threading.Lock(), threading.Event()
    with closing(product.client("reviewer")) as known:
        cookies = dict(known.cookies)

    def reviewer(place: int) -> None:
        names = list(pages)
        with httpx.Client(base_url=product.address, cookies=cookies, timeout=30) as client:
            stop.wait(THINK_SECONDS * place / REVIEWERS)
            step = place
            while not stop.is_set():
                name = names[step % len(names)]
                spent = _wait(client, pages[name])
                with lock:
                    times[name].append(spent)
                step += 1
                stop.wait(THINK_SECONDS)

    with ThreadPoolExecutor(REVIEWERS) as people:
        work = [people.submit(reviewer, place) for place in range(REVIEWERS)]
        stop.wait(seconds)
        stop.set()
        for done in work:
            done.result()
    return times


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
