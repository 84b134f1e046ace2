"""Passages: the units of embedding and of lexical search.

A passage is a stretch of consecutive body lines of one section, about 60 to 120 words long, broken where the text
itself breaks (paragraphs, list items, pages) when it can be. No line is in two passages and none is left out. An
anchor of more than 120 words never counts as a hit in evaluation, so only a single overlong line may exceed it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from arbitration.parsing.drafts import DraftLine, DraftPassage
from arbitration.spans import runs

TARGET_WORDS = 60
MAX_WORDS = 120
_MIN_WORDS = 25  # a shorter rest joins its neighbour where the limit allows
_HYPHENS = ("-", "\u2010")
_BROKEN_WORD = re.compile(r"(?<!\w)(\w+)[-\u2010]$")
_SENTENCE_END = re.compile(r"[.!?:;][\"'”’)\]]*$")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def build_passages(lines: Sequence[DraftLine]) -> list[DraftPassage]:
    """Passages over the body lines, in reading order; empty for a document without body lines.

    ``text`` joins the lines with spaces; a word broken at the end of a line is put together when the document holds
    it whole elsewhere.
    """
    body = [line for line in lines if line.is_body and line.text.strip()]
    has_broken_words = any(line.text.endswith(_HYPHENS) for line in body)
    vocabulary = _vocabulary(body) if has_broken_words else Counter()
    passages: list[DraftPassage] = []
    for stretch in _stretches(body):
        for part in _parts(stretch):
            first, last = part[0], part[-1]
            passages.append(
                DraftPassage(
                    ordinal=len(passages),
                    page_start=first.page_num,
                    line_start=first.line_num,
                    page_end=last.page_num,
                    line_end=last.line_num,
                    section_id=first.section_id,
                    text=_joined([line.text for line in part], vocabulary),
                )
            )
    return passages


def _stretches(body: Iterable[DraftLine]) -> Iterator[list[DraftLine]]:
    """Runs of lines of one section."""
    return runs(body, lambda stretch, line: line.section_id != stretch[-1].section_id)


def _words(lines: Iterable[DraftLine]) -> int:
    return sum(len(line.text.split()) for line in lines)


def _parts(stretch: Sequence[DraftLine]) -> list[list[DraftLine]]:
    """Blocks packed to the target size; blocks over the limit are cut first."""
    blocks = [piece for block in _blocks(stretch) for piece in _cut(block)]
    parts: list[list[DraftLine]] = []
    words = 0
    for block in blocks:
        size = _words(block)
        if parts and _belongs(parts[-1], words, block, size):
            parts[-1].extend(block)
            words += size
        else:
            parts.append(list(block))
            words = size
    return _without_crumbs(parts)


def _belongs(part: Sequence[DraftLine], words: int, block: Sequence[DraftLine], size: int) -> bool:
    if words + size > MAX_WORDS or words >= TARGET_WORDS:
        return False
    same_page = part[-1].page_num == block[0].page_num
    # A page is a unit people and labels point at: cross it only to keep a short beginning with its rest.
    return same_page or words < _MIN_WORDS or not _SENTENCE_END.search(part[-1].text)


def _without_crumbs(parts: list[list[DraftLine]]) -> list[list[DraftLine]]:
    """Join a very short part to the one before it on the same page, where the limit allows."""
    joined: list[list[DraftLine]] = []
    for part in parts:
        if joined and _is_crumb_of(joined[-1], part):
            joined[-1].extend(part)
        else:
            joined.append(part)
    return joined


def _is_crumb_of(before: Sequence[DraftLine], part: Sequence[DraftLine]) -> bool:
    words = _words(part)
    return (
        words < _MIN_WORDS and before[-1].page_num == part[0].page_num and _words(before) + words <= MAX_WORDS
    )


def _blocks(stretch: Iterable[DraftLine]) -> Iterator[list[DraftLine]]:
    """Paragraphs and list items; each page starts a new block."""
    return runs(stretch, lambda block, line: line.starts_block or line.page_num != block[-1].page_num)


def _cut(block: Sequence[DraftLine]) -> Iterator[list[DraftLine]]:
    """The block in parts of about equal size within the limit, cut after sentences where one ends nearby."""
    total = _words(block)
    if total <= MAX_WORDS:
        yield list(block)
        return
    share = total / -(-total // (MAX_WORDS - 15))
    part: list[DraftLine] = []
    words = 0
    for line in block:
        size = _words([line])
        full = words + size > MAX_WORDS
        ripe = words >= share or (words >= 0.75 * share and bool(_SENTENCE_END.search(part[-1].text)))
        if part and (full or ripe):
            yield part
            part, words = [], 0
        part.append(line)
        words += size
    if part:
        yield part


def _vocabulary(body: Iterable[DraftLine]) -> Counter[str]:
    """Words of the document in lower case, those broken at a line's end left out."""
    counts: Counter[str] = Counter()
    for line in body:
        text = line.text.casefold()
        if text.endswith(_HYPHENS):
            text = text.rpartition(" ")[0]
        counts.update(_WORD.findall(text))
    return counts


def _joined(texts: Sequence[str], vocabulary: Counter[str]) -> str:
    joined = texts[0].strip()
    for text in texts[1:]:
        text = text.strip()
        broken = _BROKEN_WORD.search(joined) if joined[-1:] in _HYPHENS and text[:1].islower() else None
        if broken is None:
            joined = f"{joined} {text}"
            continue
        rest = re.match(r"\w+", text)
        whole = f"{broken.group(1)}{rest.group(0) if rest else ''}".casefold()
        joined = f"{joined[:-1]}{text}" if vocabulary[whole] else f"{joined}{text}"
    return joined
