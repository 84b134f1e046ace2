"""Things that pages need before there is something to see: a checklist and its round, a comparison, a newer version
of a document, a vocabulary. Made through the product's own forms, as people make them."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

import httpx2 as httpx

from tests.arbitration.evaluation.folders import obliqa_folder, obliqa_label
from tests.e2e.labelling import furnish_labelling
from tests.product import RunningProduct, eventually

QUESTIONS = (
    "Within how many days must the Client pay an undisputed invoice?",
    "Who is the responsible officer?",
    "When are dividends paid to shareholders?",
)


def furnish(product: RunningProduct) -> dict[str, str]:
    """Addresses of what was made: ``set``, ``round``, ``comparison``, ``versions``, and of the labelling project."""
    with closing(product.client("analyst")) as analyst:
        made = {
            "set": _question_set(analyst),
            "comparison": _comparison(analyst),
            "versions": _newer_version(analyst, product),
        }
        made["round"] = _round(analyst, product, made["set"])
    with closing(product.client("admin")) as admin:
        _vocabulary(admin)
        _told(admin, product)
        made["webhook"] = _webhook(admin)
        made["archive_out"], made["archive_in"] = _archives(admin, product)
    _evaluation(product)
    _settled(product)
    made |= furnish_labelling(product)
    return made


def _webhook(admin: httpx.Client) -> str:
    """A webhook with a long address, paused so that nothing is sent."""
    url = f"https://8.8.8.8/hooks/{'arbiter-' * 20}end"
    body = {"collection": "demo", "url": url, "events": ["run.finished"], "description": ""}
    made = admin.post("/api/v1/webhooks/", json=body)
    assert made.status_code == 201, made.text
    path = f"/webhooks/{made.json()['id']}/"
    answer = admin.post(f"{path}switch/", data={"act": "pause"})
    assert answer.status_code == 200, answer.text[:2000]
    return path


def _archives(admin: httpx.Client, product: RunningProduct) -> tuple[str, str]:
    """The collection as an archive, and the same archive sent back and found whole."""
    state = "SELECT state FROM archives_transfer WHERE id = %s"
    leaves = _post(admin, "/collections/demo/archive/", {})
    key = int(leaves.split("/")[2])
    eventually(lambda: product.rows(state, key)[0][0] == "ready", seconds=300, what="the archive is ready")
    content = admin.get(f"{leaves}file/").content
    answer = admin.post("/archives/", files={"file": ("demo.zip", content, "application/zip")})
    arrives = str(answer.url.path)
    assert arrives != "/archives/", answer.text[:4000]
    key = int(arrives.split("/")[2])
    eventually(
        lambda: product.rows(state, key)[0][0] == "checked", seconds=300, what="the archive is checked"
    )
    return leaves, arrives


def _post(client: httpx.Client, path: str, data: dict[str, object]) -> str:
    """The path a form leads to; fails with the page's text where the form was refused."""
    answer = client.post(path, data=data)
    assert answer.status_code == 200, answer.text[:2000]
    assert answer.url.path != path, answer.text[:4000]
    return str(answer.url.path)


def _question_set(analyst: httpx.Client) -> str:
    fields = {"collection": "demo", "name": "Monthly check", "description": "Asked every month."}
    return _post(analyst, "/sets/", {**fields, "questions": "\n".join(QUESTIONS)})


def _round(analyst: httpx.Client, product: RunningProduct, question_set: str) -> str:
    ready = product.rows("SELECT id FROM documents_document WHERE status = 'ready' ORDER BY id LIMIT 3")
    documents = [str(pk) for (pk,) in ready]
    return _post(analyst, f"{question_set}ask/", {"documents": documents, "strategy": "offline"})


def _comparison(analyst: httpx.Client) -> str:
    fields = {"collection": "demo", "text": QUESTIONS[0], "strategies": ["offline", "bm25", "arbiter"]}
    return _post(analyst, "/compare/", fields)


def _newer_version(analyst: httpx.Client, product: RunningProduct) -> str:
    """The demo's policy with one rule changed, uploaded and accepted as its next version."""
    name = "information-security-policy.md"
    source = Path(__file__).resolve().parents[2] / "workbench" / "operations" / "demo" / "documents" / name
    text = source.read_text(encoding="utf-8") + "\n\nThis version adds one sentence at its end.\n"
    upload = {"files": (name, text.encode(), "text/markdown")}
    answer = analyst.post("/collections/demo/upload/", files=upload)
    assert answer.status_code == 200, answer.text[:2000]
    newest = "SELECT id, status FROM documents_document WHERE name = %s ORDER BY id DESC LIMIT 1"
    eventually(lambda: product.rows(newest, name)[0][1] == "ready", seconds=300, what="the version is ready")
    versions = f"/documents/{product.rows(newest, name)[0][0]}/versions/"
    offer = "SELECT count(*) FROM documents_versionoffer"
    eventually(lambda: product.rows(offer)[0][0] > 0, seconds=300, what="the version is offered")
    answer = analyst.post(f"{versions}decide/", data={"decision": "accept"})
    assert answer.url.path == versions, answer.text[:2000]
    return versions


def _vocabulary(admin: httpx.Client) -> None:
    entry = {"term": "client money", "variant": "funds held for clients", "kind": "alias", "language": "en"}
    answer = admin.post("/collections/demo/vocabulary/", data=entry)
    assert answer.status_code == 200, answer.text[:2000]


def _told(admin: httpx.Client, product: RunningProduct) -> None:
    """A comment that mentions the reviewer, and a card that was handed to them."""
    runs = product.rows("SELECT id FROM questions_run WHERE status = 'done' ORDER BY id LIMIT 1")
    answer = admin.post(f"/runs/{runs[0][0]}/comments/", data={"body": "@reviewer please look at this one."})
    assert answer.status_code == 200, answer.text[:2000]
    (item,) = product.rows(
        "SELECT id FROM review_queueitem WHERE state = 'waiting' AND NOT is_required ORDER BY id DESC LIMIT 1"
    )
    (person,) = product.rows("SELECT id FROM accounts_user WHERE email = 'reviewer@demo.example'")
    answer = admin.post(f"/queue/{item[0]}/hand-over/", data={"person": str(person[0])})
    assert answer.status_code == 200, answer.text[:2000]


def _evaluation(product: RunningProduct) -> None:
    """A small evaluation, so that the Strategies page has figures and plots."""
    asked = ("Within how many days is a fee paid?", "By how much does a late fee grow?")
    with tempfile.TemporaryDirectory() as folder:
        labels = [
            obliqa_label(f"1.1.1.({n})", qid=f"q{n}", question=text) for n, text in enumerate(asked, start=1)
        ]
        path = obliqa_folder(Path(folder) / "fees", labels)
        done = product.manage("evaluate", str(path), "--strategies", "offline,bm25,semantic", "--json")
    assert done.returncode == 0, done.stderr[-2000:]


def _settled(product: RunningProduct) -> None:
    """Every run has ended, so that no page changes while it is looked at."""
    busy = "SELECT count(*) FROM questions_run WHERE status NOT IN ('done', 'failed', 'cancelled')"
    eventually(lambda: product.rows(busy)[0][0] == 0, seconds=240, what="every run ended")
