"""One run as a readable record: everything that was asked, found, said, decided and signed, and how to check it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from django.utils import timezone, translation
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from arbitration.contracts import CandidateScope
from workbench.audit.export import head_anchor
from workbench.review.candidates import candidates_of
from workbench.review.cards import ROLE_SAYS, not_found_review
from workbench.review.models import Review, SecondReview, Signature, TextChange
from workbench.review.nearest import absence_words
from workbench.review.record import record_digest, signed_record
from workbench.review.results import candidate_role
from workbench.review.signing import signature_holds
from workbench.runs.models import Candidate, RoleChoice, Run
from workbench.runs.records import anchor_of, verdict_of
from workbench.runs.words import METHOD_LABELS, erased_words, spent_words
from workbench.trail.selectors import TrailRow, history_of

from .blocks import Block, Card, Facts, Figure, Report, Row, Section, Table, Text
from .figures import BoxedPage, boxed_pages

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


def run_report(run: Run, *, signed_by: str = "") -> Report:
    """The record of a finished run in the language that is active; ``signed_by`` is the key of its export, if any."""
    rows = candidates_of(run)
    pages, left_out = boxed_pages([row for row in rows if _is_shown(row)])
    return Report(
        kicker=_("Record of run %(pk)d") % {"pk": run.pk},
        title=run.question.text,
        language=translation.get_language() or "en",
        facts=_facts(run, rows),
        sections=tuple(
            section
            for section in (
                _answer(run),
                _conflicts(run),
                *_groups(run, rows, pages, roles=_ROLES[:-1]),
                _figures(pages, left_out),
                _signatures(run),
                _verification(run, rows, signed_by),
                *_groups(run, rows, pages, roles=_ROLES[-1:]),
                _history(run, rows),
            )
            if section.blocks
        ),
        footer=_("Run %(pk)d · made %(at)s") % {"pk": run.pk, "at": moment(timezone.now())},
    )


def moment(at: datetime) -> str:
    """A moment as records write it: in the one form of dates, UTC, to the second."""
    at = at.astimezone(UTC)
    return f"{date_format(at, 'DATETIME_FORMAT')}:{at:%S} UTC"


def place_of(scope: CandidateScope) -> str:
    """Where evidence stands, in words."""
    numbers = scope.model_dump()
    if scope.page_start != scope.page_end:
        text = _("page %(page_start)d, line %(line_start)d to page %(page_end)d, line %(line_end)d")
    elif scope.line_start == scope.line_end:
        text = _("page %(page_start)d, line %(line_start)d")
    else:
        text = _("page %(page_start)d, lines %(line_start)d–%(line_end)d")
    return text % numbers


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


def _answer(run: Run) -> Section:
    answer = run.answers.last()
    body = answer.body if answer else {}
    blocks: list[Block] = []
    if answer and answer.is_stale:
        blocks.append(
            Text(text=_("A person decided after this answer was written; it is stale."), tone="note")
        )
    if "erased" in body:
        blocks.append(Text(text=erased_words(), tone="note"))
    if body.get("statement"):
        blocks.append(Text(text=body["statement"], tone="lead"))
    for sentence in body.get("sentences", []):
        places = "; ".join(_cited(cite) for cite in sentence["citations"])
        blocks.append(
            Text(text=f"{sentence['text']} [{places}]" if places else sentence["text"], tone="lead")
        )
    for one in body.get("differences", []):
        cites = [cite for name in ("in_force", "replaced") if one[name] for cite in one[name]["citations"]]
        places = "; ".join(map(_cited, cites))
        blocks.append(Text(text=f"{one['headline']}. {one['statement']} [{places}]", tone="note"))
    if run.not_found:
        searched = ", ".join(
            f"{term} ({hits})" for term, hits in (run.parsed_question or {}).get("searched", {}).items()
        )
        facts = [
            Row(label=_("Not found because"), value=absence_words(run.not_found_reason)),
            Row(label=_("Searched for (lines that hold it)"), value=searched),
        ]
        review = not_found_review(run=run)
        facts += [Row(label=_("Decided by a person"), value=_decided(review))] if review else []
        blocks.append(Facts(rows=tuple(fact for fact in facts if fact.value)))
    return Section(title=_("Answer"), blocks=tuple(blocks))


def _cited(cite: dict[str, object]) -> str:
    known = {name: cite[name] for name in ("page_start", "line_start", "page_end", "line_end")}
    return f"{cite['document_name']}, {place_of(CandidateScope.model_validate(known))}"


def _conflicts(run: Run) -> Section:
    blocks = [
        Text(text=f"{pair['first_id']} ↔ {pair['second_id']}: {pair['explanation']}")
        for pair in run.conflicts
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
        yield Section(title=f"{_role_word(role)}: {ROLE_SAYS[role]} ({len(cards)})", blocks=tuple(cards))


def _role_word(role: str | None) -> str:
    return str(RoleChoice(role).label).capitalize() if role else _("Undecided")


def _card(row: Candidate, role: str, *, figure: str, seconds: list[SecondReview]) -> Card:
    text = getattr(row, "text", None)
    return Card(
        anchor=f"c-{row.candidate_id.replace(':', '-')}",
        role=role or "undecided",
        role_word=_role_word(role),
        title=row.breadcrumb or row.section_title or row.candidate_id,
        place=f"{row.document.name}, {place_of(anchor_of(row))} · {row.candidate_id}",
        evidence=text.anchor if text else erased_words(),
        rows=tuple(fact for fact in (*_machine(row), *_people(row, seconds)) if fact.value),
        figure=figure,
        figure_word=_("the page"),
    )


def _machine(row: Candidate) -> Iterable[Row]:
    found = ", ".join(
        f"{METHOD_LABELS.get(name, name)} ({_('rank %(n)s') % {'n': row.ranks[name]}})"
        if name in row.ranks
        else str(METHOD_LABELS.get(name, name))
        for name in row.methods
    )
    yield Row(label=_("Found by"), value=found)
    verdict = verdict_of(row)
    if verdict is None:
        return
    kind = _DECIDERS.get(verdict.decided_by_kind, verdict.decided_by_kind)
    decider = f"{kind} · {verdict.decided_by_name} {verdict.decided_by_version}".strip()
    odds = f", p = {number_format(verdict.probability, 2)}" if verdict.probability is not None else ""
    yield Row(label=_("The machine's word"), value=f"{_role_word(verdict.role)} ({decider}{odds})")
    yield Row(label=_("Its reason"), value=verdict.reason)
    yield Row(label=_("Against it"), value=verdict.counter_argument)
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
        yield Row(label=_("Decision"), value=_decided(review))
    for second in seconds:
        said = f"{second.reviewer}, {moment(second.created_at)}: {_role_word(second.role)}"
        yield Row(label=_("Second review"), value=f"{said}, “{second.comment}”" if second.comment else said)


def _decided(review: Review) -> str:
    parts = [
        str(review.get_action_display()),
        _role_word(review.role) if review.role else "",
        str(review.get_reason_code_display()) if review.reason_code else "",
        f"“{review.comment}”" if review.comment else "",
        _("without sight of the machine's word") if review.blind else "",
    ]
    said = ", ".join(part for part in parts if part)
    return f"{review.reviewer}, {moment(review.created_at)}: {said}"


def _anchor_of_page(page: BoxedPage) -> str:
    return f"page-{page.document.pk}-{page.page_num}"


def _figures(pages: list[BoxedPage], left_out: int) -> Section:
    blocks: list[Block] = [
        Figure(
            anchor=_anchor_of_page(page),
            image=page.image,
            caption=_("%(document)s, page %(page)d: the lines of %(candidates)s")
            % {
                "document": page.document.name,
                "page": page.page_num,
                "candidates": ", ".join(row.candidate_id for row in page.candidates),
            },
        )
        for page in pages
    ]
    if left_out:
        blocks.append(Text(text=_("%(n)d more pages are not shown.") % {"n": left_out}, tone="note"))
    return Section(title=_("Pages of the evidence"), blocks=tuple(blocks))


def _signatures(run: Run) -> Section:
    rows = run.signatures.select_related("run", "reopening__reopened_by").order_by("pk")
    blocks = [Facts(rows=tuple(_signature(row))) for row in rows]
    if not blocks:
        return Section(
            title=_("Signatures"), blocks=(Text(text=_("Nobody has signed this run."), tone="note"),)
        )
    return Section(title=_("Signatures"), blocks=tuple(blocks))


def _signature(signature: Signature) -> Iterable[Row]:
    yield Row(label=_("Signed by"), value=f"{signature.signer_name}, {moment(signature.signed_at)}")
    yield Row(label=_("Meaning"), value=str(signature.get_meaning_display()))
    yield Row(label=_("SHA-256 of the signed record"), value=signature.record_sha256, is_code=True)
    reopening = getattr(signature, "reopening", None)
    if reopening is not None:
        said = f"{reopening.reopened_by}, {moment(reopening.reopened_at)}: {reopening.reason}"
        yield Row(label=_("Set aside"), value=said)
        return
    yield Row(label=_("Does it hold?"), value=_whether_it_holds(signature))
    for change in signature.text_changes.select_related("document", "candidate"):
        yield Row(label=_("Text changed since"), value=_change_words(change))


def _change_words(change: TextChange) -> str:
    """A passage that a new version changed, by its name in this report."""
    told = {
        "name": change.document.name,
        "number": change.document.version_number,
        "at": moment(change.created_at),
    }
    if change.candidate is None:
        return _("%(at)s: version %(number)d of %(name)s has other text") % told
    told |= {"passage": change.candidate.candidate_id, "state": change.get_state_display()}
    return _("%(at)s: %(passage)s, %(state)s in version %(number)d of %(name)s") % told


def _whether_it_holds(signature: Signature) -> str:
    """As the page of signatures says it: an erased text is no accusation."""
    if signature_holds(signature=signature):
        return _("Yes: the run still gives the signed record.")
    if record_digest(signature.record) == signature.record_sha256:
        return _(
            "The signed record is whole, but the run no longer gives it: a text was erased, or something was changed "
            "past the product."
        )
    return _("No: the record is not the one that was signed.")


def signature_row(key: str) -> Row:
    """What a record says of its export's signature."""
    label = _("Key that signs this export")
    if key:
        return Row(label=label, value=key, is_code=True)
    return Row(label=label, value=_("none: this export is not signed"))


def _verification(run: Run, rows: list[Candidate], signed_by: str) -> Section:
    head = head_anchor()
    facts = [
        Row(
            label=_("SHA-256 of the record as it stands"),
            value=record_digest(signed_record(run, rows)),
            is_code=True,
        ),
        Row(label=_("Head of the audit chain"), value=head["hash"] if head else "", is_code=True),
        Row(label=_("Place in the chain"), value=str(head["position"]) if head else ""),
        signature_row(signed_by),
    ]
    how = _(
        "The record is the run in JSON with every text as its SHA-256, keys sorted, no blanks, in UTF-8. The events "
        "below are links of the chain; verify_audit computes all of them anew."
    )
    return Section(
        title=_("How to check this record"),
        blocks=(Facts(rows=tuple(fact for fact in facts if fact.value)), Text(text=how, tone="note")),
    )


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
            f"{event.action} {event.object_label}",
            event.reason,
            f"{event.sequence} {event.hash[:12]}" if event.sequence else "",
        )
        for event in events
    )
    return (Table(header=header, rows=cells),)
