"""Every operation of the API description is asked what nobody thought of: no fault of the server, no answer of another
shape than the description says.

Some hundred requests in the ordinary run; at least 5,000 with ``WORKBENCH_FUZZ=full``, as in ``make faults``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.product import ROOT, RunningProduct

pytestmark = [pytest.mark.integration, pytest.mark.faults]

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
IS_FULL = os.environ.get("WORKBENCH_FUZZ") == "full"
#: Odd requests per operation, beside those that the description itself suggests; and how many there are at least.
EXAMPLES, LEAST = (100, 5000) if IS_FULL else (2, 200)
PHASES = "examples,coverage,fuzzing,stateful" if IS_FULL else "fuzzing"
#: A version that was made up is refused before anything is tried: of these, ask for any.
CONFIGURATION = """
[parameters]
"header.If-Match" = "*"
"""
TOKEN = """
from workbench.accounts.models import MemberRole, Membership, User
from workbench.accounts.permissions import Permission
from workbench.api.tokens import token_create
from workbench.documents.models import Collection
user = User.objects.get(email="reviewer@demo.example")
for role in MemberRole:
    Membership.objects.get_or_create(user=user, collection=Collection.objects.get(slug="demo"), role=role)
print(token_create(actor=user, name="odd requests", scopes=list(Permission), days=1)[1])
"""


def test_the_api_keeps_to_its_description(product: RunningProduct, tmp_path: Path) -> None:
    made = product.manage("shell", "-v", "0", "-c", TOKEN)
    assert made.returncode == 0, made.stderr
    report = tmp_path / "report.ndjson"
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    done = subprocess.run(
        [
            *(str(Path(sys.executable).parent / "schemathesis"), "run", str(ROOT / "docs" / "openapi.yaml")),
            *("--url", product.address, "--header", f"Authorization: Bearer {made.stdout.split()[-1]}"),
            *("--checks", ",".join(CHECKS), "--phases", PHASES, "--max-examples", str(EXAMPLES)),
            *("--seed", "1", "--no-shrink", "--continue-on-failure", "--request-timeout", "60"),
            *("--suppress-health-check", "all", "--report", "ndjson", "--report-ndjson-path", str(report)),
        ],
        cwd=tmp_path,  # it keeps its examples beside where it runs
        capture_output=True,
        text=True,
        check=False,
        timeout=3600 if IS_FULL else 900,
    )
    assert done.returncode == 0, done.stdout[-12000:] + done.stderr[-2000:]
    asked = requests_in(report)
    print(f"{asked} requests")
    assert asked >= LEAST


def requests_in(report: Path) -> int:
    """How many requests were answered, by the report's events; a part that was skipped has none."""
    return sum(
        len(event["ScenarioFinished"]["recorder"].get("interactions", {}))
        for event in map(json.loads, report.read_text("utf-8").splitlines())
        if "ScenarioFinished" in event
    )
