"""The annex of a run's report: all that was found, said and decided, passage by passage, and its events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workbench.review.cards import ROLE_SAYS
from workbench.review.models import SecondReview
from workbench.review.results import candidate_role
from workbench.runs.models import Candidate, RoleChoice, Run
from workbench.runs.places import lines_range, lines_short
from workbench.runs.records import anchor_of, verdict_of
from workbench.runs.templatetags.evidence import decider_name, likelihood
from workbench.runs.words import METHOD_LABELS, erased_words, spent_words
from workbench.trail.selectors import TrailRow, history_of

from .blocks import Block, Card, Facts, Figure, Row, Section, Table, Text
from .figures import BoxedPage, boxed_pages
from .words import decision_words, moment, place_words, role_word

#: Roles whose evidence an answer may rest on, and what nobody could decide: shown on their pages.
_SHOWN = frozenset({RoleChoice.PRIMARY, RoleChoice.SUPPORTING, None})

#: What nobody decided first; what was rejected last, after everything that counts.
_ROLES = ("", *RoleChoice.values)
_DECIDERS = {
    "rule": gettext_lazy("Rule"),
    "gate": gettext_lazy("Gate"),
    "mlp": gettext_lazy("Neural network"),
    "logistic": gettext_lazy("Logistic regression"),
    "llm": gettext_lazy("LLM"),
    "fallback": gettext_lazy("Fallback"),
    "baseline": gettext_lazy("Baseline"),
    "person": gettext_lazy("Person"),
}


def annex_of(run: Run, rows: list[Candidate]) -> tuple[Section, ...]:
    """The full record behind a report, in the language that is active."""
    pages, left_out = boxed_pages([row for row in rows if _is_shown(row)])
    sections = (
        Section(title=_("Question and run"), blocks=(_facts(run, rows),)),
        _conflicts(run, rows),
        *_groups(run, rows, pages, roles=_ROLES[:-1]),
        _figures(pages, left_out),
        *_groups(run, rows, pages, roles=_ROLES[-1:]),
        _history(run, rows),
    )
    return tuple(section for section in sections if section.blocks)


def _is_shown(row: Candidate) -> bool:
    return candidate_role(row) in _SHOWN or any(review.role for review in row.reviews.all())


def _facts(run: Run, rows: list[Candidate]) -> Facts:
    documents = {row.document.name: row.document.sha256 for row in rows}
    if run.question.document:
        documents = {run.question.document.name: run.question.document.sha256} | documents
    methods = [str(METHOD_LABELS.get(name, name)) for name in run.methods_run]
    skipped = [
        f"{METHOD_LABELS.get(name, name)} ({run.skipped_reasons.get(name, '')})"
        for name in run.methods_skipped
    ]
    facts = [
        Row(label=_("Collection"), value=run.collection.name),
        Row(
            label=_("Asked of"),
            value=run.question.asked_of,
        ),
        Row(label=_("Asked by"), value=f"{run.requested_by}, {moment(run.created_at)}"),
        Row(label=_("Strategy"), value=run.strategy),
        Row(label=_("State of the review"), value=run.review_words),
        Row(label=_("Detectors run"), value=", ".join(methods)),
        Row(label=_("Detectors skipped"), value="; ".join(skipped)),
        Row(
            label=_("Model calls and cost"),
            value=", ".join(spent_words(run.llm_call_count, run.cost, run.unpriced_call_count)),
        ),
        *(
            Row(label=_("SHA-256 of %(name)s") % {"name": name}, value=digest, is_code=True)
            for name, digest in sorted(documents.items())
        ),
    ]
    return Facts(rows=tuple(fact for fact in facts if fact.value))


def _conflicts(run: Run, rows: list[Candidate]) -> Section:
    places = {row.candidate_id: place_words(row) for row in rows}
    blocks = [
        Text(text=f"{places[pair['first_id']]} ↔ {places[pair['second_id']]}: {pair['explanation']}")
        for pair in run.conflicts
        if {pair["first_id"], pair["second_id"]} <= set(places)
    ]
    return Section(title=_("Passages that contradict each other"), blocks=tuple(blocks))


def _groups(
    run: Run, rows: list[Candidate], pages: list[BoxedPage], *, roles: Sequence[str]
) -> Iterable[Section]:
    seconds: dict[int, list[SecondReview]] = defaultdict(list)
    for second in run.second_reviews.select_related("reviewer"):
        seconds[second.candidate_id].append(second)
    figures = {row.pk: _anchor_of_page(page) for page in reversed(pages) for row in page.candidates}
    for role in roles:
        cards = [
            _card(row, role, figure=figures.get(row.pk, ""), seconds=seconds[row.pk])
            for row in rows
            if (candidate_role(row) or "") == role
        ]
        yield Section(title=f"{role_word(role)}: {ROLE_SAYS[role]} ({len(cards)})", blocks=tuple(cards))


def _card(row: Candidate, role: str, *, figure: str, seconds: list[SecondReview]) -> Card:
    text = getattr(row, "text", None)
    return Card(
        anchor=f"c-{row.candidate_id.replace(':', '-')}",
        role=role or "undecided",
        role_word=role_word(role),
        title=row.breadcrumb or row.section_title or lines_range(anchor_of(row)),
        place=place_words(row),
        evidence=text.anchor if text else erased_words(),
        rows=tuple(fact for fact in (*_machine(row), *_people(row, seconds)) if fact.value),
        figure=figure,
        figure_word=_("the page"),
    )


def _machine(row: Candidate) -> Iterable[Row]:
    found = ", ".join(str(METHOD_LABELS.get(name, name)) for name in row.methods)
    yield Row(label=_("Found by"), value=found)
    verdict = verdict_of(row)
    if verdict is None:
        return
    kind = _DECIDERS.get(verdict.decided_by_kind, verdict.decided_by_kind)
    decider = f"{kind} · {decider_name(verdict.decided_by_name)} {verdict.decided_by_version}".strip()
    odds = f", {likelihood(verdict.probability)}" if verdict.probability is not None else ""
    yield Row(label=_("Machine"), value=f"{role_word(verdict.role)} ({decider}{odds})")
    yield Row(label=_("Reason"), value=verdict.reason)
    yield Row(label=_("What speaks against it"), value=verdict.counter_argument)
    quotes = "; ".join(
        f"“{quote['quote']}” ({_('not in the source') if quote['status'] == 'unverified' else _('in the source')})"
        for quote in verdict.quotes
    )
    yield Row(label=_("Quotes"), value=quotes)
    suspected = "; ".join(f"“{words}”" for words in verdict.injection_words)
    yield Row(label=_("Possible prompt injection"), value=suspected)


def _people(row: Candidate, seconds: list[SecondReview]) -> Iterable[Row]:
    if row.added_by:
        yield Row(label=_("Added by"), value=str(row.added_by))
    for review in row.reviews.all():
        yield Row(label=_("Decision"), value=decision_words(review))
    for second in seconds:
        said = f"{second.reviewer}, {moment(second.created_at)}: {role_word(second.role)}"
        yield Row(label=_("Second review"), value=f"{said}, “{second.comment}”" if second.comment else said)


def _anchor_of_page(page: BoxedPage) -> str:
    return f"page-{page.document.pk}-{page.page_num}"


def _figures(pages: list[BoxedPage], left_out: int) -> Section:
    blocks: list[Block] = [
        Figure(
            anchor=_anchor_of_page(page),
            image=page.image,
            caption=_("%(document)s, page %(page)d, with %(lines)s")
            % {
                "document": page.document.name,
                "page": page.page_num,
                "lines": ", ".join(lines_short(anchor_of(row)) for row in page.candidates),
            },
        )
        for page in pages
    ]
    if left_out:
        blocks.append(Text(text=_("%(n)d more pages are not shown.") % {"n": left_out}, tone="note"))
    return Section(title=_("Pages of the evidence"), blocks=tuple(blocks))


def _history(run: Run, rows: list[Candidate]) -> Section:
    return Section(title=_("History"), blocks=_events(history_of(run, *rows)))


def _events(events: list[TrailRow]) -> tuple[Block, ...]:
    if not events:
        return ()
    header = (_("Time"), _("Who"), _("What"), _("Reason"), _("Link"))
    cells = tuple(
        (
            moment(event.at),
            event.actor,
            f"{event.action_label} {event.object_label}",
            event.reason,
            f"{event.sequence} {event.hash[:12]}" if event.sequence else "",
        )
        for event in events
    )
    return (Table(header=header, rows=cells),)
