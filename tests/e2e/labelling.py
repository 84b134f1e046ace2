"""A labelling project of the demo, made and worked through the product's own forms."""

from __future__ import annotations

import json
import re
from contextlib import closing

import httpx2 as httpx

from tests.product import RunningProduct


def start_project(product: RunningProduct, name: str, *, double_share: int = 0) -> str:
    """An empty project of the demo; its path."""
    fields = {"collection": "demo", "name": name, "gold_share": 0, "random_share": 20}
    with closing(product.client("admin")) as admin:
        made = admin.post("/labeling/", data={**fields, "double_share": double_share})
        assert made.url.path.startswith("/labeling/projects/"), made.text[:2000]
        return str(made.url.path)


def import_pairs(product: RunningProduct, project: str, *, subject: str, count: int) -> None:
    """Pairs of the demo's policy from a file: a question about the subject for each of its first lines."""
    lines = product.rows(
        "SELECT d.name, l.page_num, l.line_num FROM documents_line l JOIN documents_document d"
        " ON d.id = l.document_id WHERE d.name = 'amendment-no-1.md' AND NOT l.is_furniture"
        " AND length(l.text) > 20 ORDER BY l.page_num, l.line_num LIMIT %s",
        count,
    )
    rows = [
        {
            "question": f"What does line {line} say of {subject}?",
            "document": name,
            "page": page,
            "line_from": line,
        }
        for name, page, line in lines
    ]
    content = "\n".join(map(json.dumps, rows)).encode()
    with closing(product.client("admin")) as admin:
        taken = admin.post(
            f"{project}import/", data={"kind": "pairs"}, files={"file": ("pairs.jsonl", content)}
        )
    assert "The file was imported" in taken.text, taken.text[:4000]


def furnish_labelling(product: RunningProduct) -> dict[str, str]:
    """A project where two people judged, and disagree about one pair; addresses ``project`` and ``dispute``."""
    with closing(product.client("admin")) as admin:
        (colleague,) = product.rows("SELECT id FROM accounts_user WHERE email = 'reviewer2@demo.example'")
        granted = admin.post(f"/collections/demo/people/{colleague[0]}/grant/", data={"role": "annotator"})
        assert granted.status_code == 200, granted.text[:2000]
    project = start_project(product, "Invoices and records", double_share=100)
    with closing(product.client("admin")) as admin:
        filled = admin.post(f"{project}fill/", data={"limit": 400})
        assert filled.status_code == 200, filled.text[:2000]
        admin.post(f"{project}elusion/", data={"elusion-size": 10})
        body = "Primary carries the answer by itself.\n\nSupporting is needed to read it rightly."
        admin.post(f"{project}guidelines/", data={"body": body})
    for role, answers in (("annotator", ["primary", "discarded"] * 6), ("reviewer2", ["discarded"] * 12)):
        with closing(product.client(role)) as client:
            for answer in answers:
                _label(client, project, answer)
            client.post(f"{project}work/")
    (pair,) = product.rows("SELECT id FROM labeling_pair WHERE state = 'disputed' ORDER BY id LIMIT 1")
    return {"project": project, "dispute": f"/labeling/adjudication/{pair[0]}/"}


def _label(client: httpx.Client, project: str, role: str) -> None:
    desk = client.post(f"{project}work/")
    address = re.search(r'action="(/labeling/desk/\d+/answer/)"', desk.text)
    assert address, desk.text[:4000]
    done = client.post(address[1], data={"role": role})
    assert done.status_code == 200, done.text[:2000]
