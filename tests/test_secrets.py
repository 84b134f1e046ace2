"""No secret lies in the repository: what looks like a key of a provider, a private key, a password in an address or a
long random literal beside a telling name fails the gate. A literal that is meant to be there is named in ``KNOWN``."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
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
    """The files of the repository: what is committed, and what would be. Outside of one, the files of the tree."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    paths = [ROOT / name for name in filter(None, listed.stdout.split("\0"))]
    for path in tree(ROOT) if listed.returncode else paths:
        if path.suffix not in PASSED_OVER and path.is_file() and path.stat().st_size <= LARGEST:
            yield path


def tree(root: Path) -> Iterator[Path]:
    """Every file below a folder but for what its .gitignore names, as ours does: names, and paths from the root."""
    lines = (root / ".gitignore").read_text("utf-8").split()
    named = [line.rstrip("/") for line in lines if not line.startswith("/")]
    placed = {root / line.strip("/") for line in lines if line.startswith("/")}
    for folder, folders, files in os.walk(root):
        here = Path(folder)

        def kept(name: str, here: Path = here) -> bool:
            return (
                name != ".git"
                and here / name not in placed
                and not any(fnmatch(name, each) for each in named)
            )

        folders[:] = sorted(filter(kept, folders))
        yield from (here / name for name in sorted(filter(kept, files)))


def test_no_secret_is_in_the_repository() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {kind}"
        for path in committed()
        for line, kind in findings(path.read_text("utf-8", errors="replace"))
    ]
    assert found == [], "take it out, and replace it wherever it was in use"


def test_outside_of_a_repository_the_tree_is_read(tmp_path: Path) -> None:
    """As in an archive of a release: nothing asks git, and what git would leave out is left out."""
    (tmp_path / ".gitignore").write_text((ROOT / ".gitignore").read_text("utf-8"))
    for name in (
        "workbench/key.py",
        "secrets/app_password",
        "deep/secrets/kept",
        ".env",
        "var/secrets.json",
        "a.pyc",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = {path.relative_to(tmp_path).as_posix() for path in tree(tmp_path)}
    assert found == {".gitignore", "workbench/key.py", "deep/secrets/kept"}


def test_the_tree_holds_what_git_lists() -> None:
    assert {path.relative_to(ROOT).as_posix() for path in committed()} <= {
        path.relative_to(ROOT).as_posix() for path in tree(ROOT)
    }


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
