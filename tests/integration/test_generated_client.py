"""A typed client, generated from docs/openapi.yaml, does with a token what people do on the pages."""

from __future__ import annotations

import importlib
import io
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.product import ROOT, RunningProduct, eventually

#: In the ordinary run the description itself is checked (tests/workbench/api/test_schema.py), and what it describes.
pytestmark = [pytest.mark.integration, pytest.mark.long]
TEXT = (
    b"1 Keys\n\nSpare keys are kept in the safe of the front office.\nThe porter writes down who takes one.\n"
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Gives the module of an operation or of models by its name in the generated package."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "config.yml").write_text("post_hooks: []\n")
    made = subprocess.run(
        [
            *(sys.executable, "-m", "openapi_python_client", "generate"),
            *("--path", str(ROOT / "docs" / "openapi.yaml")),
            *("--output-path", str(folder / "workbench_client")),
            *("--meta", "none", "--config", str(folder / "config.yml"), "--fail-on-warning"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    sys.path.insert(0, str(folder))
    yield lambda name: importlib.import_module(f"workbench_client.{name}")
    sys.path.remove(str(folder))


def token_of(product: RunningProduct, role: str, *scopes: str) -> str:
    """A token made on the page, as a person makes it."""
    page = product.client(role).post("/tokens/", data={"name": "client", "scopes": list(scopes), "days": 1})
    key = re.search(r"wbk_[A-Za-z0-9_-]+", page.text)
    assert key, page.text
    return key[0]


def test_it_uploads_asks_reviews_and_exports(product: RunningProduct, api: Any) -> None:
    models, types = api("models"), api("types")

    def client(role: str, *scopes: str) -> Any:
        token = token_of(product, role, *scopes)
        return api("client").AuthenticatedClient(base_url=product.address, token=token, timeout=120)

    def call(operation: str, *arguments: object, **options: object) -> Any:
        answer = api(f"api.{operation}").sync(*arguments, **options)
        assert not isinstance(answer, models.Problem), answer
        assert answer is not None, operation
        return answer

    admin, analyst = client("admin", "view", "upload"), client("analyst", "view", "ask")
    reviewer = client("reviewer", "view", "review")
    file = types.File(payload=io.BytesIO(TEXT), file_name="keys.txt", mime_type="text/plain")
    upload = models.DocumentUploadRequest(collection="demo", file=file)
    document = call("documents.documents_create", client=admin, body=upload)

    def ready() -> bool:
        found = call("documents.documents_retrieve", str(document.id), client=analyst)
        return str(found.status) == "ready"

    eventually(ready, what="the document is ready")
    question = models.AskRequest(
        collection="demo", text="Where are spare keys kept?", strategy="offline", document=document.id
    )
    run = call("questions.questions_create", client=analyst, body=question).run

    def done() -> bool:
        return str(call("runs.runs_retrieve", str(run.id), client=analyst).status) == "done"

    eventually(done, what="the run is done")
    candidates = call("candidates.candidates_list", client=reviewer, run=run.id).results
    assert candidates
    decision = models.ReviewCreateRequest(
        candidate=candidates[0].id, action=models.ReviewCreateActionEnum.APPROVE
    )
    review = call("reviews.reviews_create", client=reviewer, body=decision)
    assert str(review.action) == "approve"
    wanted = models.ExportCreateRequest(run=run.id)
    export = call("exports.exports_create", client=analyst, body=wanted)

    def made() -> Any:
        found = call("exports.exports_retrieve", str(export.id), client=analyst)
        return found if str(found.state) == "ready" else None

    names = [one.name for one in eventually(made, what="the export is ready").files]
    page = next(name for name in names if name.endswith(".html"))
    content = call("exports.exports_files_retrieve", str(export.id), page, client=analyst)
    assert b"Where are spare keys kept?" in content.payload.read()
