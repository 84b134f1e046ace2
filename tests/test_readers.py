"""No text makes a reader of texts hang: whatever is worst is read in seconds, or the reader is at fault.

`make faults` reads 100 kB of each text, the ordinary gate 4 kB."""

from __future__ import annotations

import ast
import subprocess
import sys
import threading
from pathlib import Path
from queue import Empty, SimpleQueue

import psutil

from tests.readers import SIZE, readers

ROOT = Path(__file__).resolve().parent.parent
#: Processor time for one text, many times what the slowest reader needs; what backtracks takes minutes or for ever.
SECONDS = max(10.0, 60.0 * SIZE / 100_000)  # the first reader also loads what it reads with
#: Modules with patterns that read no text of strangers as it comes, or only behind a reader that is named.
NOT_READERS = {
    "arbitration.adapters.openai_sdk": "error codes of an endpoint, at most 60 characters",
    "arbitration.aliases": "single words of a question",
    "arbitration.answerability": "words of a question",
    "arbitration.candidates": "titles, which a parser cuts",
    "arbitration.detectors.patterns": "lines, in the engine's reader",
    "arbitration.evaluation.families.obliqa": "a data set that is chosen by hand",
    "arbitration.pattern_files": "our own files",
    "arbitration.injection_signs": "its patterns are those of the reader of arbitration.injection",
    "arbitration.interaction": "words of a question, and a line only around one of its characters",
    "arbitration.questions.cognates": "single words of a question",
    "arbitration.parsing.docx": "paragraphs, in the tests of hostile files",
    "arbitration.parsing.docx_styles": "names of styles",
    "arbitration.parsing.flow": "characters one by one, in the readers of pages",
    "arbitration.parsing.flow_headings": "lines, in the readers of pages",
    "arbitration.parsing.furniture": "lines at the edge of a page, at most 200 characters",
    "arbitration.parsing.kinds": "the first bytes of a file",
    "arbitration.parsing.pdf_text": "characters one by one",
    "arbitration.parsing.titles": "at most 200 characters",
    "arbitration.answers": "a few characters at the beginning of a sentence",
    "arbitration.questions.lexicon": "single words and negative cues, in the parser's reader",
    "arbitration.strategies.consensus": "a verdict at the beginning of a reply, and short ids",
    "workbench.documents.lexical_database": "single words, which the reader of term_queries cuts",
    "workbench.operations.costs": "a month in an address",
    "workbench.operations.demo.clock": "statements of our own database layer",
    "workbench.operations.demo.grader": "our own prompts, in the demo's stand-in for a model",
    "workbench.operations.demo.pdf": "our own demo",
    "workbench.infra.metrics.files": "names of our own files",
    "workbench.settings.endpoints": "what the operator sets",
    "workbench.operations.server": "the head of a request, which is bounded, in the tests of slow requests",
    "workbench.infra.request_log": "addresses, which the web server cuts",
}


def _uses_patterns(path: Path) -> bool:
    imported = {
        name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [
                *([node.module or ""] if isinstance(node, ast.ImportFrom) else []),
                *(a.name for a in node.names),
            ]
        )
    }
    return not imported.isdisjoint({"re", "difflib", "WORD"})  # the last is arbitration.text's


def test_every_module_with_a_pattern_is_in_the_table_of_readers() -> None:
    found = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for package in ("arbitration", "training", "workbench")
        for path in (ROOT / package).rglob("*.py")
        if "stack" not in path.parts and "migrations" not in path.parts and _uses_patterns(path)
    }
    known = {*readers(), *NOT_READERS}
    assert found - known == set(), "name their readers in tests/readers.py"
    assert set(NOT_READERS) - found == set(), "these use no pattern any more"


def test_no_text_hangs_a_reader() -> None:
    hung: list[str] = []
    last = ""
    while True:
        last, ended = _read_on(after=last)
        if ended:
            break
        hung.append(last)
    assert hung == []


def _read_on(*, after: str) -> tuple[str, bool]:
    """Reads on in a process of its own behind a case; the case that took too long, or the end."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.readers", *([after] if after else [])],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    said: SimpleQueue[str] = SimpleQueue()
    assert child.stdout is not None
    lines = child.stdout
    threading.Thread(target=lambda: [said.put(line.rstrip("\n")) for line in lines], daemon=True).start()
    last, since = after, 0.0
    try:
        while True:
            try:
                last, since = said.get(timeout=1), _used(child.pid)
                if last == "end":
                    return last, True
            except Empty:
                assert child.poll() is None, f"the reader died: {last}"
                if _used(child.pid) - since > SECONDS:
                    return last, False
    finally:
        child.kill()
        child.wait()


def _used(pid: int) -> float:
    """Processor seconds of a process: what others do on this machine does not count."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)
