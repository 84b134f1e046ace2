"""RTF to lines, read with striprtf. Hidden and deleted words are flagged lines; pictures and objects are not opened."""

from __future__ import annotations

import re
from collections.abc import Iterator

from arbitration.parsing.drafts import Draft, Mark
from arbitration.parsing.flow import Flow
from arbitration.parsing.flow_headings import Candidate, candidate_of, usable_headings
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.package import damage_reported

# Groups, control words and escapes; what a picture or a font holds is between them.
_TOKEN = re.compile(r"\\([a-z]{1,32})(-?\d{1,10})?[ ]?|\\[^a-z]|[{}]", re.IGNORECASE)
_BINARY = re.compile(r"\\bin\d")
# Characters for private use: striprtf carries them through, and Flow never sees them.
_HIDDEN, _DELETED, _INSERTED, _END = "\ue0f1", "\ue0f2", "\ue0f3", "\ue0f4"
_STATES = {"v": _HIDDEN, "deleted": _DELETED, "revised": _INSERTED}
_MARKED = re.compile(f"([{_HIDDEN}{_DELETED}{_INSERTED}])([^{_HIDDEN}{_DELETED}{_INSERTED}{_END}]*){_END}")
_TITLE = re.compile(r"\{\\title ([^{}\\]{1,300})\}")
_MAX_DEPTH = 20_000


def draft_of_rtf(data: bytes, *, limits: ParseLimits) -> Draft:
    """Paragraphs and table rows as lines. Raises :class:`ParseFailure` (``corrupt``, ``too_large``)."""
    source = data.decode("latin-1")
    flow = Flow("rtf", limits.max_characters)
    writer = _Writer(flow)
    writer.write(rtf_text(source))
    toc, toc_source = usable_headings(flow, writer.candidates)
    title = _TITLE.search(source[:100_000])
    warnings = list(writer.warnings())
    if _BINARY.search(source) or "\\pict" in source or "\\object" in source:
        warnings.append("pictures and embedded objects were not read")
    return Draft("rtf", flow.pages, flow.lines, toc, toc_source, title.group(1) if title else None, warnings)


def rtf_text(source: str) -> str:
    """The words of an RTF file, what is hidden, deleted or inserted between marks. Raises ParseFailure."""
    from striprtf.striprtf import rtf_to_text

    with damage_reported("a word processor"):
        return str(rtf_to_text(_with_marks(source), errors="replace"))


def _with_marks(source: str) -> str:
    r"""The source with a mark wherever ``\v``, ``\deleted`` or ``\revised`` begins and ends."""
    if not any(f"\\{word}" in source for word in _STATES):
        return source
    out: list[str] = []
    stack: list[str] = []
    state, at = "", 0
    for token in _TOKEN.finditer(source):
        then = state
        word, brace = token.group(1), token.group()
        if brace == "{":
            stack.append(state)
        elif brace == "}":
            then = stack.pop() if stack else ""
        elif word in _STATES:
            then = "" if token.group(2) == "0" else _STATES[word]
        elif word == "plain":
            then = ""
        if then == state:
            continue
        # The mark of an end stands inside the group that ends, that of a beginning after the word that begins it.
        place = token.start() if brace == "}" or not then else token.end()
        out.append(source[at:place])
        out.append((_control(_END) if state else "") + (_control(then) if then else ""))
        state, at = then, place
    out.append(source[at:])
    return "".join(out)


def _control(mark: str) -> str:
    r"""A character as ``\uN`` with a replacement that its reader skips, whatever ``\uc`` says in this group."""
    return rf"{{\uc0\u{ord(mark) - 0x10000} }}"


class _Writer:
    """Puts paragraphs on pages, and what is marked below them."""

    def __init__(self, flow: Flow) -> None:
        self.candidates: list[Candidate] = []
        self._flow = flow
        self._counts = {_HIDDEN: 0, _DELETED: 0, _INSERTED: 0}

    def write(self, text: str) -> None:
        open_state = ""
        for row in text.split("\n"):
            row, open_state = _closed(row, open_state)
            self._row(row)

    def warnings(self) -> Iterator[str]:
        """What people are told."""
        if self._counts[_HIDDEN]:
            yield f"{self._counts[_HIDDEN]} paragraphs hold text that is not shown; it is flagged and not searched"
        if self._counts[_DELETED] or self._counts[_INSERTED]:
            yield (
                f"tracked changes: {self._counts[_INSERTED]} insertions and {self._counts[_DELETED]} deletions. "
                "The text is read as if all were accepted; deleted words are flagged and not searched"
            )
        if self._flow.invisible_characters:
            yield f"{self._flow.invisible_characters} invisible characters were left out"

    def _row(self, row: str) -> None:
        aside = _MARKED.findall(row)
        shown = _MARKED.sub(lambda found: found[2] if found[1] == _INSERTED else "", row)
        before = len(self._flow.lines)
        if shown.rstrip().endswith("|"):  # how striprtf ends each cell of a table
            self._flow.add_row(cell for cell in shown.split("|"))
        else:
            self._paragraph(shown)
        if any(mark in (_INSERTED, _DELETED) for mark, _ in aside):
            for line in self._flow.lines[before:]:
                line.mark = "changed"
        for mark, words in aside:
            if not words.strip():
                continue
            self._counts[mark] += 1
            if mark == _HIDDEN:
                self._flow.add(words, hidden=True)
            else:
                kind: Mark = "insertion" if mark == _INSERTED else "deletion"
                self._flow.add_note(words, mark=kind, author="", hidden=mark == _DELETED)

    def _paragraph(self, words: str) -> None:
        line = self._flow.add(words)
        if line is not None:
            self.candidates.append(candidate_of(line, words))


def _closed(row: str, state: str) -> tuple[str, str]:
    """A row whose marks begin and end in it, and the state that goes on in the next."""
    row = state + row
    last = max(row.rfind(mark) for mark in (_HIDDEN, _DELETED, _INSERTED))
    if last >= 0 and row.find(_END, last) < 0:
        return row + _END, row[last]
    return row, ""
