"""Source diversity: the candidates of each document type are a stream, shortlisted and judged by itself, then merged.

A large collection of one type does not crowd out a small one of another (engines.md, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from typing import Literal, TypeVar

from arbitration.pool import CandidatePool, PoolCandidate

#: ``score``: best grade first, whatever the stream. ``round-robin``: the best of each stream, then the second best of
#: each. ``quota``: of each stream so many by grade, then the others by grade.
MergeRule = Literal["score", "round-robin", "quota"]
Item = TypeVar("Item")


def stream_of(pool: CandidatePool, candidate: PoolCandidate) -> str:
    """The candidate's stream: the type of its document, in small letters; empty where nobody said."""
    document = pool.document(candidate.document_id)
    return document.document_type.casefold() if document else ""


def split(items: Sequence[Item], stream: Callable[[Item], str]) -> dict[str, list[Item]]:
    """The items by stream, both in the order in which they come."""
    found: dict[str, list[Item]] = {}
    for item in items:
        found.setdefault(stream(item), []).append(item)
    return found


def interleaved(items: Sequence[Item], stream: Callable[[Item], str]) -> list[Item]:
    """The first of each stream, then the second of each, and so on; every item once."""
    rounds = zip_longest(*([(item,) for item in own] for own in split(items, stream).values()), fillvalue=())
    return list(chain.from_iterable(chain.from_iterable(rounds)))


def merged(
    items: Sequence[Item], stream: Callable[[Item], str], *, rule: MergeRule, quota: int | None
) -> list[Item]:
    """Items that come best first, in the order of the rule. Without a ``quota`` each stream has an equal share."""
    if rule == "score":
        return list(items)
    if rule == "round-robin":
        return interleaved(items, stream)
    streams = split(items, stream)
    share = quota or math.ceil(len(items) / max(1, len(streams)))
    within = {id(item) for own in streams.values() for item in own[:share]}
    return sorted(items, key=lambda item: id(item) not in within)
