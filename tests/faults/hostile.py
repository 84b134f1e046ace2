"""Every file of the hostile set through a running product, and the table of what became of them.

``python -m tests.faults.hostile`` makes docs/hostile.md anew; the test in ``test_hostile.py`` asks the same function.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.product import ROOT, RunningProduct, eventually, running_product

TABLE = ROOT / "docs" / "hostile.md"
MEMORY_LIMIT = 2 * 1024**3  # bytes; the default of PARSER_MEMORY_BYTES
COLLECTION = "hostile"
POOL = 2  # processes of the worker
_HEAD = """# Hostile files

How the product handles malformed, encrypted, active and deceptive uploads. Each file ends ready, or failed with a
reason; a failure affects that file alone. `python -m tests.faults.hostile` creates this table from files outside this
repository; `var/hostile.csv` then has one row per file.

Limits: `MAX_UPLOAD_BYTES`, `PARSER_MEMORY_BYTES`, `PARSER_SECONDS`, `MAX_DOCUMENT_HEADINGS`, `MAX_DOCUMENT_LINES` and
`MAX_DOCUMENT_PASSAGES`. Each file and each scanned page has its own parser process. It gets its file as an open
descriptor and then permanently gives up (`arbitration/parsing/sandbox.py`):

- root, if the product runs as root: it switches to a user ID that owns nothing;
- all files except Python, its packages and fonts, by Landlock (Linux 5.13 or later);
- all system calls except those for reading and computing (Linux on x86-64 or ARM64);
- inspection by other processes of its account.

Using the network, or signalling or reading another process, ends the parser; the document fails as `misbehaved`. An
unlisted system call is answered "not there" and logged once. At its start a worker logs limits that the machine lacks
(`parser.open_door`, with a hint), and `manage.py check --deploy` names them.

MB is the kernel's figure for the largest parser process, an upper bound: it includes what the worker held.
"""


@dataclass(frozen=True, slots=True)
class HostileFile:
    """A row of the manifest; ``password`` is empty where none is known."""

    name: str
    category: str
    password: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a file. ``peak_bytes`` is the most memory that any of its parser processes held."""

    file: HostileFile
    status: str
    code: str
    reason: str
    pages: int
    lines: int
    attempts: int
    seconds: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Report:
    """The whole run. ``opened`` are the encrypted files after their password was given."""

    outcomes: list[Outcome]
    opened: list[Outcome]
    lost_workers: list[int]
    changed_paths: list[str]
    network_attempts: int


def manifest(folder: Path) -> list[HostileFile]:
    """The rows of MANIFEST.csv, one per file."""
    with (folder / "MANIFEST.csv").open(encoding="utf-8", newline="") as file:
        return [HostileFile(row["file"], row["category"], row["password"]) for row in csv.DictReader(file)]


def run(product: RunningProduct, folder: Path, files: Sequence[HostileFile]) -> Report:
    """Uploads the files, waits for the worker, then gives the passwords."""
    before, workers = _state_of(folder), _workers(product)
    _ingest(product, [folder / "files" / file.name for file in files])
    peaks = _peaks(product.home.log("worker").read_text("utf-8", errors="replace"))
    outcomes = [_outcome(product, file, peaks) for file in files]
    locked = [file for file in files if file.password]
    if locked:
        passwords = [f"{file.name}={file.password}" for file in locked]
        peaks = _peaks(_ingest(product, [folder / "files" / file.name for file in locked], passwords))
    opened = [_outcome(product, file, peaks) for file in locked]
    after = _state_of(folder)
    return Report(
        outcomes,
        opened,
        lost_workers=[pid for pid in workers if not psutil.pid_exists(pid)],
        changed_paths=sorted(
            str(path) for path in before.keys() | after.keys() if before.get(path) != after.get(path)
        ),
        network_attempts=sum(outcome.code == "misbehaved" for outcome in (*outcomes, *opened)),
    )


def _ingest(product: RunningProduct, paths: Sequence[Path], passwords: Sequence[str] = ()) -> str:
    """Uploads by the command; the worker reads. Files with passwords are read by the command itself, which alone knows
    them; what it logs is given."""
    words = [part for password in passwords for part in ("--password", password)]
    done = subprocess.run(
        [
            sys.executable,
            "manage.py",
            "ingest",
            *map(str, paths),
            "--collection",
            COLLECTION,
            "--json",
            *words,
        ],
        cwd=ROOT,
        env=product.environment,
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows = json.loads(done.stdout)
    assert len(rows) == len(paths)
    assert {row["status"] for row in rows} <= {"ready", "failed", "duplicate"}
    return done.stderr


def _outcome(product: RunningProduct, file: HostileFile, peaks: Mapping[int, int]) -> Outcome:
    digest = _digest(file, product)
    found = product.rows(
        "SELECT d.id, d.status, d.failure_code, d.failure_reason, d.page_count, d.line_count, d.attempts, d.seconds"
        " FROM documents_document d JOIN documents_collection c ON c.id = d.collection_id"
        " WHERE c.slug = %s AND d.sha256 = %s",
        COLLECTION,
        digest,
    )
    if not found:  # refused at the door, before there was a document
        return Outcome(file, "refused", "empty", "The file is empty.", 0, 0, 0, 0.0, 0)
    key, status, code, reason, pages, lines, attempts, seconds = found[0]
    return Outcome(
        file, str(status), str(code), str(reason), pages, lines, attempts, float(seconds), peaks.get(key, 0)
    )


def _digest(file: HostileFile, product: RunningProduct) -> str:
    folder = Path(product.environment["HOSTILE_FOLDER"])
    return hashlib.sha256((folder / "files" / file.name).read_bytes()).hexdigest()


def _peaks(log: str) -> dict[int, int]:
    """The most memory of the parser per document, from the log of who started it."""
    peaks: dict[int, int] = {}
    for line in log.splitlines():
        if '"parser.ended"' in line:
            row = json.loads(line[line.index("{") :])
            peaks[row["document_id"]] = max(peaks.get(row["document_id"], 0), row["peak_bytes"])
    return peaks


def _workers(product: RunningProduct) -> list[int]:
    """The worker and the processes of its pool, once they are there; parsers are their children, and come and go."""

    def pool() -> list[int]:
        children = psutil.Process(product.pid("worker")).children()
        return [child.pid for child in children] if len(children) >= POOL else []

    return [product.pid("worker"), *eventually(pool, what="the worker's pool is there")]


def _state_of(folder: Path) -> dict[Path, tuple[int, int]]:
    """Size and time of everything beside the files, above them, and in the code; what the product may not touch."""
    places = [
        *folder.rglob("*"),
        *folder.parent.glob("*"),
        *(ROOT / "arbitration").rglob("*"),
        *Path("/").glob("*"),
    ]
    files = [path for path in places if path.is_file() and path.suffix not in (".py", ".pyc")]
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def write_table(report: Report, target: Path = TABLE) -> None:
    """The first part of docs/hostile.md; the sections after it are written by hand."""
    written = target.read_text("utf-8") if target.exists() else ""
    _, heading, rest = written.partition("\n## ")
    target.write_text("\n".join(_table(report)) + "\n" + heading + rest, "utf-8")


def _table(report: Report) -> Iterator[str]:
    outcomes = report.outcomes
    ready = sum(outcome.status == "ready" for outcome in outcomes)
    peak = max(outcome.peak_bytes for outcome in (*outcomes, *report.opened))
    yield _HEAD
    yield f"- files: {len(outcomes)}; ready: {ready}; failed with a reason: {len(outcomes) - ready}"
    yield f"- opened with their password: {sum(o.status == 'ready' for o in report.opened)} of {len(report.opened)}"
    yield f"- most memory of a parser: {peak / 2**20:.0f} MB of {MEMORY_LIMIT / 2**20:.0f} MB"
    yield f"- most attempts at one file: {max(outcome.attempts for outcome in outcomes)}"
    yield f"- workers lost: {len(report.lost_workers)}; files changed outside: {len(report.changed_paths)}"
    yield f"- attempts to reach the network: {report.network_attempts}"
    yield "\n| kind | outcome | files | MB at most |\n|---|---|--:|--:|"
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.file.category, _said(outcome)), []).append(outcome)
    for (kind, said), alike in sorted(groups.items()):
        yield f"| {kind} | {said} | {len(alike)} | {max(one.peak_bytes for one in alike) / 2**20:.0f} |"


def _said(outcome: Outcome) -> str:
    return outcome.status if outcome.status == "ready" else f"{outcome.status}: {outcome.code}"


def write_files(report: Report, target: Path = ROOT / "var" / "hostile.csv") -> None:
    """A row for each file, and one more for each that was opened with its password."""
    target.parent.mkdir(exist_ok=True)
    with target.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(("file", "kind", "outcome", "pages", "lines", "bytes"))
        for outcome in (*report.outcomes, *report.opened):
            file = outcome.file
            found = (outcome.pages, outcome.lines, outcome.peak_bytes)
            rows.writerow((file.name, file.category, _said(outcome), *found))


def data_folder() -> Path:
    """The hostile set; see docs/running.md on test data."""
    return Path(os.environ.get("WORKBENCH_TEST_DATA", ROOT.parent / "shared" / "data")) / "hostile"


def main() -> int:
    """Run all of it and write the table."""
    folder = data_folder()
    if not folder.is_dir():
        print(f"no test data at {folder}", file=sys.stderr)
        return 1
    with running_product({"HOSTILE_FOLDER": str(folder)}) as product:
        report = run(product, folder, manifest(folder))
        write_table(report)
        write_files(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
