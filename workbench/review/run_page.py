"""What the run page, its tabs and the evidence page show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from arbitration import bounded_json
from arbitration.absence import NO_KEYWORD_MATCH
from arbitration.contracts import CandidateScope, Role
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission, permissions_in
from workbench.direction import shown_in_json
from workbench.documents.beside import Place, beside_url
from workbench.documents.selectors import PageView, page_view
from workbench.documents.viewer import finding_of, page_asked, viewer
from workbench.runs import selectors
from workbench.runs.models import Answer, Candidate, Run, dom_id_of
from workbench.runs.places import lines_range, lines_short
from workbench.runs.progress import run_progress
from workbench.runs.records import anchor_of, context_of, decider_fields, verdict_of
from workbench.runs.rubrics import criteria_forms, rubric_of
from workbench.runs.stand_in import stand_in_of
from workbench.runs.words import METHOD_LABELS, erased_words, spent_words
from workbench.trail.selectors import history_of

from . import cards
from .answer_standing import standing_words
from .blindness import comments_shown, hides, is_withheld, withheld_words
from .candidates import candidates_of
from .comments import handles_of
from .models import ReasonCode, TextChange
from .nearest import absence_words, near_terms, near_text, nearest_of, searched_words
from .outline import of_role, outlines_of, tally_of
from .results import SURVIVING, candidate_role, run_audit, run_result
from .selectors import signing_of, standing_review, text_changes_of

#: Tabs that tell the machine's roles in a way that no card can mask.
TELLING_TABS = frozenset({"provenance", "calls", "history", "json"})
TABS = ("verdicts", "provenance", "calls", "comments", "history", "json")


def run_page(
    *, run: Run, user: User, tab: str, everything: bool = False, named: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The run page: progress while it goes; afterwards one tab, read with a fixed number of queries. ``everything``: no
    card is left for later; ``named``: ids of cards that are not."""
    tab = tab if tab in TABS else "verdicts"
    may = permissions_in(user, run.collection)
    context: dict[str, Any] = {
        "run": run,
        "collection": run.collection,
        "tab": tab,
        "facts": [],
        "documents_named": run.question.documents_named,
        "follow_ups": selectors.follow_ups(run=run),
        "may_ask": Permission.ASK in may,
        "may_share": bool({Permission.REVIEW, Permission.MANAGE, Permission.AUDIT} & may),
        "stand_in": stand_in_of(run),
        "tabs": _tabs(run, tab),
        "tabs_label": _("Views of this run"),
        "progress": run_progress(run=run),
        "again_url": _again_url(run) if Permission.ASK in may else "",
        "crumbs": [
            {"label": run.collection.name, "url": run.collection.get_absolute_url()},
            {"label": _("Runs"), "url": f"{reverse('questions:runs')}?collection={run.collection.slug}"},
            {"label": _("Run %(pk)d") % {"pk": run.pk}},
        ],
    }
    if not run.is_ended:
        return context
    context |= signing_of(run=run) | {"withheld": withheld_words(user=user, run=run)}
    if not context["withheld"]:
        context["facts"] = _facts(run)
    if context["withheld"] and tab in TELLING_TABS:
        return context
    reviewer = user if Permission.REVIEW in may else None
    if tab == "verdicts":
        is_withheld = bool(context["withheld"])
        return context | _verdicts(
            run, user, reviewer, is_withheld=is_withheld, everything=everything, named=named
        )
    return context | _TAB_CONTEXTS[tab](run, user)


def rest_page(*, run: Run, user: User, role: str, named: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The cards of a role that the run page, asked with the same names, left for later; none for a role that there is
    not."""
    reviewer = user if cards.may_decide(run=run, user=user) else None
    rest = cards.rest_of(of_role(outlines_of(run, viewer=user), role), named=named)
    shown = cards.cards_of(rest, run=run, viewer=user, reviewer=reviewer)
    return {
        "rest": [shown[row.pk] for row in rest if row.pk in shown],
        "run": run,
        "reason_choices": ReasonCode.choices,
        **cards.NOTHING_TYPED,
    }


#: Shorter times are shown in milliseconds.
SECOND_MS = 1000


def _facts(run: Run) -> list[str]:
    """What the run took: time, model calls, money. A run that found nothing took less, so it is part of what is
    withheld."""
    elapsed = run.elapsed_ms or 0
    short = _("%(ms)d ms") % {"ms": round(elapsed)}
    facts = [short if elapsed < SECOND_MS else _("%(s)s s") % {"s": number_format(elapsed / 1000, 1)}]
    return [*facts, *spent_words(run.llm_call_count, run.cost, run.unpriced_call_count)]


def _tabs(run: Run, active: str) -> list[dict[str, Any]]:
    labels = {
        "verdicts": _("Verdicts"),
        "provenance": _("Provenance"),
        "calls": _("Model calls"),
        "comments": _("Comments"),
        "history": _("History"),
        "json": "JSON",
    }
    address = run.get_absolute_url()
    return [
        {
            "label": label,
            "url": address if name == "verdicts" else f"{address}?tab={name}",
            "active": name == active,
        }
        for name, label in labels.items()
    ]


def scope_fields(run: Run) -> dict[str, Any]:
    """The collection, documents and filters of a run, as the fields of the form of a question."""
    facts = dict(run.question.filters or {})
    named = facts.pop("documents", [])
    documents = [run.question.document_id] if run.question.document_id else named
    return {"collection": run.collection.slug, "document": documents, **facts}


def _again_url(run: Run) -> str:
    query = {"q": run.question.text, **scope_fields(run), "methods": run.settings.get("forced_methods", [])}
    if run.follows_id:
        query["follows"] = run.follows_id
    return f"{reverse('questions:ask')}?{urlencode(query, doseq=True)}"


def _follow_up_fields(run: Run) -> list[tuple[str, Any]]:
    """What the follow-up box sends beside the question, one value a field."""
    given = scope_fields(run) | {"follows": run.pk}
    return [
        (name, value)
        for name, values in given.items()
        for value in (values if isinstance(values, list) else [values])
    ]


def _verdicts(
    run: Run,
    user: User,
    reviewer: User | None,
    *,
    is_withheld: bool,
    everything: bool,
    named: frozenset[str],
) -> dict[str, Any]:
    rows = outlines_of(run, viewer=user)
    may_review = reviewer is not None and cards.is_reviewable(run)
    deciding = reviewer if may_review else None
    answer = (
        {}
        if is_withheld
        else answer_of(
            run=run, reviewer=deciding, roles=[Role(row.role) if row.role else None for row in rows]
        )
    )
    conflicts = [] if is_withheld else _conflicts(run)
    folded = {cards.dom_id(row) for row in rows if row.is_brief}
    if answer:
        named |= _linked(answer, conflicts)
    named &= folded
    return {
        "groups": cards.card_groups(
            run=run, rows=rows, viewer=user, reviewer=deciding, everything=everything, named=named
        ),
        "named_query": urlencode({"card": sorted(named)}, doseq=True),
        "candidate_count": len(rows),
        "tally": tally_of(rows),
        "may_review": may_review,
        "follow_up_fields": _follow_up_fields(run),
        "reason_choices": ReasonCode.choices,
        "conflicts": conflicts,
        "displaced": int(run.artefacts.get("displaced", 0)),
        **cards.NOTHING_TYPED,
        **answer,
    }


def _linked(answer: dict[str, Any], conflicts: list[dict[str, str]]) -> set[str]:
    """Ids of the cards that the page itself links to: what an answer of any version cites, and what contradicts."""
    told = [answer["sentences"], answer["more_sentences"], answer["differences"]]
    told += [earlier["sentences"] for earlier in answer["earlier_answers"]]
    cited = {cite["dom_id"] for sentences in told for sentence in sentences for cite in sentence["cites"]}
    cited |= {near["dom_id"] for near in answer["nearest"]}
    return cited.union(*({pair["first_dom_id"], pair["second_dom_id"]} for pair in conflicts))


#: Characters and sentences of an answer shown before the rest is folded, so that the first verdict is on the first
#: screen.
ANSWER_SHOWN, MOST_SENTENCES = 420, 4


def answer_of(
    *, run: Run, reviewer: User | None, roles: Sequence[Role | None] | None = None
) -> dict[str, Any]:
    """The newest answer, its first sentences apart from the rest, or the not-found with what was searched and what came
    nearest. ``reviewer`` is the person looking at it, where they may decide; ``roles`` the effective ones, if known."""
    *earlier, answer = list(run.answers.all()) or [None]
    body = answer.body if answer else {}
    sentences = _sentences(run, body)
    shown = _within(sentences, ANSWER_SHOWN)
    standing = standing_words(run=run, answer=answer, roles=roles)
    return {
        "answer": answer,
        **standing,
        "nearest": _nearest(run) if standing["standing"].not_found else [],
        "statement": statement_of(body),
        "sentences": sentences[:shown],
        "more_sentences": sentences[shown:],
        "differences": _differences(run, body),
        "searched": list(searched_words(run).items()) if run.not_found else [],
        "absence": absence_words(run.not_found_reason),
        "is_absence_proved": run.not_found_reason.startswith(NO_KEYWORD_MATCH),
        **cards.not_found_words(run=run, reviewer=reviewer),
        "earlier_answers": [
            {
                "version": old.version,
                "at": old.created_at,
                "statement": statement_of(old.body),
                "sentences": _sentences(run, old.body),
            }
            for old in reversed(earlier)
        ],
        **writing_words(run=run, answer=answer),
        "add_url": reverse("review:documents", args=[run.pk]),
    }


#: Keys that say which of the nearest passages answers; 1 to 4 are those of roles.
NEAR_KEYS = ("5", "6", "7")


def answer_page(*, run: Run, user: User) -> dict[str, Any]:
    """The answer by itself, and the way to the signature: asked for again while a new version is being written."""
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
            "document": row.document.name,
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


def _sentences(run: Run, body: dict[str, Any]) -> list[dict[str, Any]]:
    names_document = run.question.document_id is None
    return [_sentence(item, names_document=names_document) for item in body.get("sentences", [])]


def _differences(run: Run, body: dict[str, Any]) -> list[dict[str, Any]]:
    """Which text of the evidence replaces which, with the places of both, the text in force first."""
    names_document = run.question.document_id is None
    return [
        {
            "headline": one["headline"],
            "text": one["statement"],
            "beside_url": _texts_beside(one),
            "cites": [
                cite
                for name in ("in_force", "replaced")
                if one[name]
                for cite in _sentence(one[name], names_document=names_document)["cites"]
            ],
        }
        for one in body.get("differences", [])
    ]


def _sentence(item: dict[str, Any], *, names_document: bool) -> dict[str, Any]:
    return {
        "text": item["text"],
        "cites": [
            {
                "dom_id": dom_id_of(cite["candidate_id"]),
                "document": cite["document_name"] if names_document else "",
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


def _conflicts(run: Run) -> list[dict[str, str]]:
    """Pairs of passages that contradict each other, with their places; one query where there are any."""
    ids = {pair[name] for pair in run.conflicts for name in ("first_id", "second_id")}
    rows = run.candidates.filter(candidate_id__in=ids).select_related("document") if ids else ()
    named = {row.candidate_id: row for row in rows}
    return [
        pair
        | {
            "first_dom_id": dom_id_of(pair["first_id"]),
            "second_dom_id": dom_id_of(pair["second_id"]),
            "first_place": _place_of(named.get(pair["first_id"])),
            "second_place": _place_of(named.get(pair["second_id"])),
            "beside_url": _candidates_beside(named.get(pair["first_id"]), named.get(pair["second_id"])),
        }
        for pair in run.conflicts
    ]


def _place_of(candidate: Candidate | None) -> str:
    return f"{candidate.document}, {lines_short(anchor_of(candidate))}" if candidate else ""


def _candidates_beside(first: Candidate | None, second: Candidate | None) -> str:
    """The passages of two candidates side by side, while their documents are there."""
    if first is None or second is None or first.document.erased_at or second.document.erased_at:
        return ""
    return beside_url(*((one.document_id, _lines(anchor_of(one))) for one in (first, second)))


def _lines(scope: CandidateScope) -> Place:
    return (scope.page_start, scope.line_start), (scope.page_end, scope.line_end)


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


def _provenance(run: Run, user: User) -> dict[str, Any]:
    reasons = dict((run.parsed_question or {}).get("method_reasons", {})) | dict(run.skipped_reasons)
    ran = list(run.methods_run)
    methods = [
        {
            "label": METHOD_LABELS.get(name, name),
            "ran": name in ran,
            "reason": reasons.get(name, ""),
        }
        for name in [*ran, *run.methods_skipped]
    ]
    rows = candidates_of(run)
    rubric = rubric_of(run)
    return {
        "rubric": rubric,
        "rubric_by_person": bool(run.rubric_edits),
        "criteria": criteria_forms(rubric) if rubric else None,
        "methods": methods,
        "searched": list(searched_words(run).items()),
        "reading": _reading(run),
        "provenance": [_provenance_row(row, ran) for row in rows],
    }


def _reading(run: Run) -> dict[str, Any]:
    """How the question was read, with its keywords as a person may edit them for another run."""
    parsed = run.parsed_question or {}
    groups: dict[str, list[str]] = {"primary": [], "secondary": []}
    for keyword in parsed.get("keywords", []):
        groups[keyword["group"]].append(keyword["term"])
    return {
        "corrected": parsed.get("corrected"),
        "clarification": parsed.get("clarification"),
        "sub_questions": parsed.get("sub_questions", []),
        "primary": "\n".join(groups["primary"]),
        "secondary": "\n".join(groups["secondary"]),
    }


def _provenance_row(row: Candidate, methods: list[str]) -> dict[str, Any]:
    verdict = verdict_of(row)
    return {
        "place": place_in_words(row, names_document=True),
        "url": reverse("questions:evidence", args=[row.pk]),
        "receipt_url": reverse("review:receipt", args=[row.pk]),
        "role": candidate_role(row),
        "rrf_rank": row.rrf_rank,
        "rrf_score": row.rrf_score,
        "cells": [{"rank": row.ranks.get(name), "score": row.scores.get(name)} for name in methods],
        "decided_by": decider_fields(verdict) if verdict else None,
        "terms": list(verdict.terms.items()) if verdict else [],
    }


def _calls(run: Run, user: User) -> dict[str, Any]:
    calls = list(run.llm_calls.select_related("body").order_by("id")[:200])
    for call in calls:
        body = getattr(call, "body", None)
        call.request_text = _indented(body.request) if body else ""
        call.response_text = _indented(body.response) if body else ""
    return {"calls": calls}


def _indented(value: Any) -> str:
    if isinstance(value, str):
        try:
            value = bounded_json.loads(value)
        except ValueError:
            return str(value)
    return shown_in_json(json.dumps(value, ensure_ascii=False, indent=2))


def _comments(run: Run, user: User) -> dict[str, Any]:
    handles = handles_of(collection=run.collection)
    comments = comments_shown(user=user).filter(run=run).select_related("author", "candidate")
    return {
        "comments": list(comments.order_by("pk")[:500]),
        "handles": [(name, person) for name, people in handles.items() for person in people],
        "passages": [
            (row.candidate_id, place_in_words(row, names_document=run.question.document_id is None))
            for row in run.candidates.select_related("document").order_by(*selectors.PLACE)
        ],
    }


def place_in_words(row: Candidate, *, names_document: bool) -> str:
    """Where a passage stands, in short; with its document where there are several."""
    place = lines_short(anchor_of(row))
    return f"{row.document.name}, {place}" if names_document else place


def _history(run: Run, user: User) -> dict[str, Any]:
    return {"events": history_of(run, *candidates_of(run))}


def _json(run: Run, user: User) -> dict[str, Any]:
    return {"json_text": shown_in_json(json.dumps(record(run), ensure_ascii=False, indent=2))}


_TAB_CONTEXTS = {
    "provenance": _provenance,
    "calls": _calls,
    "comments": _comments,
    "history": _history,
    "json": _json,
}


def record(run: Run) -> dict[str, Any]:
    """The run in the audit format, as plain JSON."""
    rows = candidates_of(run)
    return {
        "run_id": run.pk,
        "strategy": run.strategy,
        "result": run_result(run, rows).model_dump(mode="json"),
        "audit": run_audit(run, rows).model_dump(mode="json"),
        "text_changes": [_text_change(change) for change in text_changes_of(run=run)],
    }


def _text_change(change: TextChange) -> dict[str, Any]:
    """A passage that a new version changed since the run was signed; without a candidate the whole document."""
    return {
        "candidate_id": change.candidate.candidate_id if change.candidate else None,
        "document_sha256": change.document.sha256,
        "version": change.document.version_number,
        "state": change.state,
        "at": change.created_at.isoformat(),
    }


def evidence_page(*, candidate: Candidate, query: QueryDict, user: User) -> dict[str, Any]:
    """A candidate on a page of its document: the exact lines boxed on the image, and the same text as text."""
    verdict, run = verdict_of(candidate), candidate.run
    hidden = hides(item=cards.item_of(candidate), run=run, user=user)
    withheld = is_withheld(user=user, run=run)
    finding = finding_of(document=candidate.document, query=query)
    page_num = page_asked(
        document=candidate.document, query=query, finding=finding, otherwise=candidate.anchor_page_start
    )
    return {
        "document": candidate.document,
        "document_page_url": f"{candidate.document.get_absolute_url()}?page={page_num}",
        "role": "" if hidden else candidate_role(candidate) or "",
        "reason": verdict.reason if verdict and not hidden else "",
        "decision": None if hidden else cards.decision_of(standing_review(candidate.reviews.all())),
        **evidence_panel(
            candidate=candidate,
            user=user,
            page_num=page_num,
            finding=finding,
            evidence_pages=_evidence_pages(candidate, user, is_withheld=withheld),
            add_url=_add_url(candidate, user),
        ),
        **_ways_on(candidate, is_withheld=withheld),
    }


def _evidence_pages(candidate: Candidate, user: User, *, is_withheld: bool) -> set[int]:
    """The pages of the document that hold evidence of the run; those of this candidate alone where roles are hidden."""
    pages = set(range(candidate.anchor_page_start, candidate.anchor_page_end + 1))
    if is_withheld:
        return pages
    places = dict(
        candidate.run.candidates.filter(document=candidate.document_id).values_list("pk", "anchor_page_start")
    )
    surviving = (row.pk for row in outlines_of(candidate.run, viewer=user) if row.role in SURVIVING)
    return pages | {places[pk] for pk in surviving if pk in places}


def _add_url(candidate: Candidate, user: User) -> str:
    """Where lines of this document become evidence of the run, for whoever may add some."""
    run = candidate.run
    if not (has_permission(user, run.collection, Permission.REVIEW) and cards.is_reviewable(run)):
        return ""
    return reverse("review:lines", args=[run.pk, candidate.document_id])


def evidence_panel(
    *, candidate: Candidate, user: User, page_num: int | None = None, **more: Any
) -> dict[str, Any]:
    """What stands beside a card: a page of the document with the candidate's lines, their first by default. ``more`` is
    what :func:`workbench.documents.viewer.viewer` takes."""
    anchor, context = anchor_of(candidate), context_of(candidate)
    page_num = page_num or anchor.page_start
    view = page_view(
        document=candidate.document,
        page_num=page_num,
        anchor=((anchor.page_start, anchor.line_start), (anchor.page_end, anchor.line_end)),
        context=((context.page_start, context.line_start), (context.page_end, context.line_end)),
    )
    address = reverse("questions:evidence", args=[candidate.pk])
    return {
        "candidate": candidate,
        "anchor": anchor,
        "breadcrumb": [part for part in candidate.breadcrumb.split(" › ") if part],
        "evidence_url": address,
        "span": _span_pages(anchor, shown=page_num, address=address),
        "viewer": viewer(view, user=user, address=address, box_note=_box_note(view, anchor), **more),
    }


def _span_pages(anchor: CandidateScope, *, shown: int, address: str) -> list[dict[str, Any]]:
    """The pages the evidence stands on, where it is more than one."""
    pages = range(anchor.page_start, anchor.page_end + 1)
    return [
        {"number": number, "url": f"{address}?page={number}", "active": number == shown}
        for number in pages
        if len(pages) > 1
    ]


def _box_note(view: PageView, anchor: CandidateScope) -> str:
    if view.document.erased_at:
        return erased_words()
    marked = [line for line in view.lines if line.is_marked]
    if not marked:
        return (
            ""
            if view.page_num in range(anchor.page_start, anchor.page_end + 1)
            else _("The evidence is on another page.")
        )
    if view.has_image and not all(line.box for line in marked):
        return _("Some of these lines could not be placed on the image; read them in the text.")
    return ""


def _ways_on(candidate: Candidate, *, is_withheld: bool) -> dict[str, Any]:
    run = candidate.run
    before, after, place, count = selectors.neighbours(candidate=candidate, by_place=is_withheld)
    return {
        "hits": {
            "index": place,
            "count": count,
            "previous_url": reverse("questions:evidence", args=[before]) if before else "",
            "next_url": reverse("questions:evidence", args=[after]) if after else "",
        },
        "back_url": candidate.get_absolute_url(),
        "crumbs": [
            {"label": run.collection.name, "url": run.collection.get_absolute_url()},
            {"label": _("Run %(pk)d") % {"pk": run.pk}, "url": run.get_absolute_url()},
            {"label": lines_range(anchor_of(candidate)).capitalize()},
        ],
    }
