"""No secret lies in the repository: what looks like a key of a provider, a private key, a password in an address or a
long random literal beside a telling name fails the gate. A literal that is meant to be there is named in ``KNOWN``."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: Kinds of files that hold hashes or bytes by the thousand and nobody's words.
PASSED_OVER = {".lock", ".mo", ".png", ".woff2", ".onnx", ".skops", ".gz", ".pdf", ".ico"}
LARGEST = 2 * 1024 * 1024

SIGNS = {
    "private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----",
    "key of a model provider": r"sk-(?<![\w-]sk-)(?:proj-|ant-)?[A-Za-z0-9_-]{32,}",
    "key of a cloud": r"AKIA[0-9A-Z]{16}\b|AIza[0-9A-Za-z_-]{35}\b",
    "token of a code host": r"gh[pousr]_[A-Za-z0-9]{36,}|glpat-[A-Za-z0-9_-]{20,}",
    "token of a chat": r"xox[abprs]-[0-9A-Za-z-]{20,}",
    "token of a registry": r"pypi-AgEI[A-Za-z0-9_-]{40,}|npm_[A-Za-z0-9]{36}",
    "signed token": r"eyJ[A-Za-z0-9_-]{16,}\.eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    "our own API token": r"wbk_[A-Za-z0-9_-]{43}\b",
    "our own webhook secret": r"whsec_[A-Za-z0-9+/]{32,}={0,2}",
    "password in an address": r"://[^\s/:@'\"{}$%<>]*:(?P<value>[^\s/@'\"{}$%<>]{16,})@",
    "random literal": (
        r"(?i:secret|token|passw(?:or)?d|api_?key)\w*['\"]?\s*[:=]\s*"
        r"['\"](?P<value>(?=[^'\"]*[0-9])(?=[^'\"]*[a-z])(?=[^'\"]*[A-Z])[A-Za-z0-9+/_=]{24,})['\"]"
    ),
}
# Each begins with the letters it is known by, which is what makes the search quick.
_COMPILED = {name: re.compile(pattern) for name, pattern in SIGNS.items()}
#: Literals of tests that open nothing.
KNOWN: frozenset[str] = frozenset()


def findings(text: str) -> Iterator[tuple[int, str]]:
    """Line and kind of whatever looks like a secret."""
    for name, pattern in _COMPILED.items():
        for match in pattern.finditer(text):
            value = match.groupdict().get("value") or match[0]
            if value not in KNOWN:
                yield text.count("\n", 0, match.start()) + 1, name


def committed() -> Iterator[Path]:
    """The files of the repository: what is committed, and what would be."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git repository: nothing can be committed from here")
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.suffix not in PASSED_OVER and path.is_file() and path.stat().st_size <= LARGEST:
            yield path


def test_no_secret_is_in_the_repository() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {kind}"
        for path in committed()
        for line, kind in findings(path.read_text("utf-8", errors="replace"))
    ]
    assert found == [], "take it out, and replace it wherever it was in use"


LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("private key", "-----BEGIN RSA " + "PRIVATE KEY-----"),
        ("key of a model provider", "sk-" + "proj-" + LETTERS),
        ("key of a cloud", "AKIA" + "ABCDEFGHIJKLMNOP"),
        ("token of a code host", "ghp_" + LETTERS + "abcdef"),
        ("token of a chat", "xoxb-" + LETTERS),
        ("token of a registry", "npm_" + LETTERS + "abcd"),
        ("signed token", "eyJ" + LETTERS + ".eyJ" + LETTERS + "." + LETTERS),
        ("our own API token", "wbk_" + LETTERS + LETTERS[:11]),
        ("our own webhook secret", "whsec_" + LETTERS),
        ("password in an address", "postgres://owner:" + LETTERS + "@database/workbench"),
        ("random literal", 'API_KEY = "' + LETTERS + '"'),
        ("random literal", '{"secret": "' + LETTERS + '"}'),
    ],
)
def test_every_kind_is_noticed(kind: str, text: str) -> None:
    assert (3, kind) in list(findings("first\nsecond\n" + text))


@pytest.mark.parametrize(
    "text",
    [
        'password = "correct-horse-battery-staple"',
        "DATABASE_URL=postgres://workbench_app:%s@database:5432/workbench",
        "redis://:password@host:6379/0",
        'secret_name = "webhooks.secret.of.collection"',
        "OPENAI_API_KEY=sk-test",
        "sha256: " + "0f" * 32,
    ],
)
def test_words_and_hashes_are_none(text: str) -> None:
    assert list(findings(text)) == []
