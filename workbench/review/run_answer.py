"""The answer of a run, or the not-found with what came nearest, as pages show it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from django.urls import reverse
from django.utils import timezone

from arbitration.absence import NO_KEYWORD_MATCH
from arbitration.contracts import Role
from workbench.accounts.models import User
from workbench.documents.beside import beside_url
from workbench.documents.models import Document
from workbench.runs.models import Answer, Run, dom_id_of
from workbench.runs.records import anchor_of
from workbench.runs.words import erased_words

from . import cards
from .answer_standing import standing_words
from .blindness import is_withheld
from .nearest import absence_words, near_terms, near_text, nearest_of, searched_words
from .selectors import signing_of

#: Characters and sentences of an answer shown before the rest is folded, so that the first verdict is on the first
#: screen.
ANSWER_SHOWN, MOST_SENTENCES = 420, 4
#: The two texts of a difference.
_TEXTS = ("in_force", "replaced")


def answer_of(
    *, run: Run, reviewer: User | None, roles: Sequence[Role | None] | None = None
) -> dict[str, Any]:
    """The newest answer, its first sentences apart from the rest, or the not-found with what was searched and what came
    nearest. ``reviewer`` is the person looking at it, where they may decide; ``roles`` the effective ones, if known."""
    *earlier, answer = list(run.answers.all()) or [None]
    body = answer.body if answer else {}
    titles = _titles(run, [old.body for old in earlier] + [body])
    sentences = _sentences(titles, body)
    shown = _within(sentences, ANSWER_SHOWN)
    standing = standing_words(run=run, answer=answer, roles=roles)
    return {
        "answer": answer,
        **standing,
        "nearest": _nearest(run) if standing["standing"].not_found else [],
        "statement": statement_of(body),
        "sentences": sentences[:shown],
        "more_sentences": sentences[shown:],
        "differences": _differences(titles, body),
        "searched": list(searched_words(run).items()) if run.not_found else [],
        "absence": absence_words(run.not_found_reason),
        "is_absence_proved": run.not_found_reason.startswith(NO_KEYWORD_MATCH),
        **cards.not_found_words(run=run, reviewer=reviewer),
        "earlier_answers": [
            {
                "version": old.version,
                "at": old.created_at,
                "statement": statement_of(old.body),
                "sentences": _sentences(titles, old.body),
            }
            for old in reversed(earlier)
        ],
        **writing_words(run=run, answer=answer),
        "add_url": reverse("review:documents", args=[run.pk]),
    }


#: Keys that say which of the nearest passages answers; 1 to 4 are those of roles.
NEAR_KEYS = ("5", "6", "7")


def answer_page(*, run: Run, user: User) -> dict[str, Any]:
    """The answer alone, with a link to the signature. Reloaded while a new version is being written."""
    reviewer = user if cards.may_decide(run=run, user=user) else None
    told = {} if is_withheld(user=user, run=run) else answer_of(run=run, reviewer=reviewer)
    tally = cards.review_tally(run=run)
    return {"run": run, "may_review": reviewer is not None, "tally": tally, **signing_of(run=run), **told}


def writing_words(*, run: Run, answer: Answer | None) -> dict[str, Any]:
    """The new version of a stale answer, if one was asked for, and for how many seconds it has been on its way."""
    last = run.regenerations.last() if answer and answer.is_stale else None
    seconds = (timezone.now() - last.created_at).total_seconds() if last else 0.0
    return {"regeneration": last, "writing_for": round(max(seconds, 0.0), 1)}


def _nearest(run: Run) -> list[dict[str, Any]]:
    return [
        {
            "dom_id": dom_id_of(row.candidate_id),
            "document": str(row.document),
            "scope": anchor_of(row),
            "text": near_text(row),
            "reason": row.verdict.reason,
            "pk": row.pk,
            "key": key,
            "holds": holds,
            "lacks": lacks,
        }
        for row, key in zip(nearest_of(run), NEAR_KEYS, strict=False)
        for holds, lacks in [near_terms(row, run)]
    ]


def statement_of(body: dict[str, Any]) -> str:
    """The first words of an answer, or that it was erased with a document."""
    return erased_words() if "erased" in body else str(body.get("statement", ""))


def _titles(run: Run, bodies: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The documents that answers cite, by their ids in citations, as pages call them; none where only one was asked."""
    if run.question.document_id is not None:
        return {}
    told = [item for body in bodies for item in body.get("sentences", [])]
    texts = [one[name] for body in bodies for one in body.get("differences", []) for name in _TEXTS]
    cites = [cite for item in [*told, *filter(None, texts)] for cite in item["citations"]]
    cited = {int(cite["document_id"].removeprefix("d")) for cite in cites}
    rows = Document.objects.filter(pk__in=cited).only("title", "name") if cited else []
    return {row.public_id: str(row) for row in rows}


def _sentences(titles: dict[str, str], body: dict[str, Any]) -> list[dict[str, Any]]:
    return [_sentence(titles, item) for item in body.get("sentences", [])]


def _differences(titles: dict[str, str], body: dict[str, Any]) -> list[dict[str, Any]]:
    """Which text of the evidence replaces which, with the places of both, the text in force first."""
    return [
        {
            "headline": one["headline"],
            "text": one["statement"],
            "beside_url": _texts_beside(one),
            "cites": [cite for name in _TEXTS if one[name] for cite in _sentence(titles, one[name])["cites"]],
        }
        for one in body.get("differences", [])
    ]


def _sentence(titles: dict[str, str], item: dict[str, Any]) -> dict[str, Any]:
    return {
        "text": item["text"],
        "cites": [
            {
                "dom_id": dom_id_of(cite["candidate_id"]),
                "document": titles.get(cite["document_id"], ""),
                "scope": cite,
            }
            for cite in item["citations"]
        ],
    }


def _within(sentences: list[dict[str, Any]], limit: int) -> int:
    """How many sentences fit, of the first few; at least one, and all of these rather than leaving a short rest."""
    lengths = list(accumulate(len(sentence["text"]) for sentence in sentences[:MOST_SENTENCES]))
    fitting = max(1, sum(1 for length in lengths if length <= limit))
    return len(lengths) if lengths and lengths[-1] <= limit * 1.25 else fitting


def _texts_beside(one: dict[str, Any]) -> str:
    """The text that was replaced and the one in force, side by side."""
    cited = [one[name]["citations"][0] if one[name] else None for name in ("replaced", "in_force")]
    if None in cited:
        return ""
    return beside_url(
        *(
            (
                int(cite["document_id"].removeprefix("d")),
                ((cite["page_start"], cite["line_start"]), (cite["page_end"], cite["line_end"])),
            )
            for cite in cited
        )
    )
