"""The chart, and what Helm made of it when it was last changed: every test run looks at that without Helm."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from workbench.stack.project import ROOT

CHART = ROOT / "docs" / "deploy" / "chart"
RENDERED = Path(__file__).with_name("rendered")
#: Values for which it is rendered, by the name of the file.
CASES: dict[str, dict[str, Any]] = {
    "volume": {
        "host": "workbench.example.org",
        "settings": {"OPENAI_BASE_URL": "https://models.example.org/v1", "REAUTHENTICATION_SECONDS": 600},
        "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "workbench-tls"},
        "backup": {"enabled": True, "claim": "backups"},
    },
    "bucket": {
        "host": "workbench.example.org",
        "image": {"repository": "registry.example.org/arbiter-workbench", "tag": "1.2.3"},
        "files": {"bucket": "workbench"},
        "web": {"replicas": 4},
    },
}
#: Values that must be refused, and what is said.
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "host"),
    ({"host": "w", "backup": {"enabled": True}}, "claim"),
    ({"host": "w", "settings": {"SECRET_KEY": "x"}}, "SECRET_KEY"),
    ({"host": "w", "workers": {"ingest": {"replicas": -1}}}, "replicas"),
    ({"host": "w", "webb": {}}, "webb"),
]


def fingerprint() -> str:
    """Of everything the rendering depends on."""
    digest = hashlib.sha256(json.dumps(CASES, sort_keys=True).encode())
    for path in sorted(path for path in CHART.rglob("*") if path.is_file()):
        digest.update(path.relative_to(CHART).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def kept(case: str) -> str:
    return (RENDERED / f"{case}.yaml").read_text("utf-8")


def headed(text: str) -> str:
    """The text of a kept file."""
    return f"# Made by `python -m tests.deploy` from {fingerprint()}\n{text}"
