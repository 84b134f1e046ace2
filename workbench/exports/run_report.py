"""One run as a readable report: on two pages question, answer, evidence with clips of the pages, who decided what, the
signature, and how to check it; the full record as an annex."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from arbitration.contracts import CandidateScope, Role
from arbitration.text import shortened
from workbench.audit.export import head_anchor
from workbench.review.answer_standing import AnswerState, Standing, standing_of
from workbench.review.candidates import candidates_of
from workbench.review.cards import not_found_review
from workbench.review.models import Review, Signature, TextChange
from workbench.review.nearest import near_text, nearest_of
from workbench.review.record import record_digest, signed_record
from workbench.review.results import candidate_role
from workbench.review.selectors import standing_review
from workbench.review.signing import signature_holds
from workbench.runs.models import Answer, Candidate, Run
from workbench.runs.places import lines_range
from workbench.runs.records import verdict_of
from workbench.runs.words import erased_words

from .blocks import Block, Card, Facts, Figure, Report, Row, Section, Table, Text
from .figures import clip_of
from .run_annex import annex_of
from .words import moment, place_words, role_word, said_words, signature_row

#: What two pages hold: sentences of the answer, passages with a clip and words of each, decisions.
SENTENCES, PASSAGES, PASSAGE_WORDS, DECISIONS = 4, 3, 60, 8
_ANSWER_WORDS, _REASON_WORDS = 60, 40


def run_report(run: Run, *, signed_by: str = "", with_annex: bool = True) -> Report:
    """The report of a finished run in the language that is active; ``signed_by`` is the key of its export, if any."""
    rows = candidates_of(run)
    answer = run.answers.last()
    standing = standing_of(run=run, answer=answer, roles=[candidate_role(row) for row in rows])
    sections = (
        _answer(run, answer, standing),
        _evidence(run, rows, standing, with_annex=with_annex),
        _decisions(run, rows, with_annex=with_annex),
        _signatures(run),
        _verification(run, rows, signed_by, with_annex=with_annex),
    )
    return Report(
        kicker=_("Report of run %(pk)d") % {"pk": run.pk},
        title=run.question.text,
        language=translation.get_language() or "en",
        facts=_facts(run, standing),
        sections=tuple(section for section in sections if section.blocks),
        footer=_("Run %(pk)d · made %(at)s") % {"pk": run.pk, "at": moment(timezone.now())},
        annex_title=_("Annex: the full record"),
        annex=annex_of(run, rows) if with_annex else (),
    )


def _facts(run: Run, standing: Standing) -> Facts:
    return Facts(
        rows=(
            Row(label=_("Asked of"), value=f"{run.question.asked_of} ({run.collection.name})"),
            Row(label=_("Asked by"), value=f"{run.requested_by}, {moment(run.created_at)}"),
            Row(label=_("State"), value=f"{_state_words(standing)}; {run.review_words}"),
        )
    )


def _state_words(standing: Standing) -> str:
    if standing.state == AnswerState.PROVISIONAL:
        number = len(standing.waiting)
        open_ones = ngettext("%(n)d decision is open", "%(n)d decisions are open", number) % {"n": number}
        return _("provisional answer, %(open)s") % {"open": open_ones} if number else _("provisional answer")
    return _("final answer")


def _answer(run: Run, answer: Answer | None, standing: Standing) -> Section:
    body = answer.body if answer else {}
    blocks: list[Block] = []
    if answer and answer.is_stale:
        said = _("A person decided after this answer was written; it is stale.")
        blocks.append(Text(text=said, tone="note"))
    if standing.not_found:
        who = standing.confirmed_by
        lead = _("Not found, confirmed by %(who)s") % {"who": who} if who else _("Not found")
        blocks.append(Text(text=lead, tone="lead"))
    if "erased" in body:
        blocks.append(Text(text=erased_words(), tone="note"))
    if body.get("statement"):
        blocks.append(Text(text=body["statement"], tone="note"))
    sentences = body.get("sentences", [])
    for sentence in sentences[:SENTENCES]:
        places = "; ".join(_cited(cite) for cite in sentence["citations"])
        text = shortened(sentence["text"], words=_ANSWER_WORDS)
        blocks.append(Text(text=f"{text} [{places}]" if places else text, tone="lead"))
    if (more := len(sentences) - SENTENCES) > 0:
        blocks.append(_more(ngettext("%(n)d more sentence", "%(n)d more sentences", more), more))
    for one in body.get("differences", []):
        cites = [cite for name in ("in_force", "replaced") if one[name] for cite in one[name]["citations"]]
        places = "; ".join(map(_cited, cites))
        blocks.append(Text(text=f"{one['headline']}. {one['statement']} [{places}]"))
    if run.not_found:
        searched = ", ".join(
            f"{term} ({hits})" for term, hits in (run.parsed_question or {}).get("searched", {}).items()
        )
        if searched:
            row = Row(label=_("Searched for (lines that hold it)"), value=searched)
            blocks.append(Facts(rows=(row,)))
    return Section(title=_("Answer"), blocks=tuple(blocks))


def _more(text: str, number: int) -> Text:
    return Text(text=text % {"n": number}, tone="note")


def _cited(cite: dict[str, object]) -> str:
    known = {name: cite[name] for name in ("page_start", "line_start", "page_end", "line_end")}
    return f"{cite['document_name']}, {lines_range(CandidateScope.model_validate(known))}"


def _evidence(run: Run, rows: list[Candidate], standing: Standing, *, with_annex: bool) -> Section:
    """The passages that the answer may rest on, or those that came nearest, each with a clip of its page."""
    if standing.not_found:
        return Section(title=_("Nearest passages"), blocks=tuple(_near(row) for row in nearest_of(run)))
    kept = [(role, row) for row in rows if (role := candidate_role(row)) in (Role.PRIMARY, Role.SUPPORTING)]
    kept.sort(key=lambda pair: pair[0] != Role.PRIMARY)
    blocks: list[Block] = []
    for role, row in kept[:PASSAGES]:
        blocks.append(_passage(row, str(role)))
        clip = clip_of(row)
        if clip is not None:
            blocks.append(Figure(anchor=f"clip-{row.pk}", image=clip, caption=place_words(row), is_clip=True))
    if (more := len(kept) - PASSAGES) > 0:
        said = ngettext("%(n)d more passage", "%(n)d more passages", more)
        blocks.append(_more(said + (_(", in the annex") if with_annex else ""), more))
    return Section(title=_("Evidence"), blocks=tuple(blocks))


def _near(row: Candidate) -> Card:
    verdict = verdict_of(row)
    role = candidate_role(row)
    return Card(
        anchor=f"e-{row.pk}",
        role=str(role or "undecided"),
        role_word=role_word(role),
        title=row.section_title,
        place=place_words(row),
        evidence=near_text(row),
        rows=_filled(Row(label=_("Reason"), value=verdict.reason if verdict else "")),
    )


def _passage(row: Candidate, role: str) -> Card:
    verdict, text = verdict_of(row), getattr(row, "text", None)
    review = standing_review(row.reviews.all())
    reason = shortened(verdict.reason, words=_REASON_WORDS) if verdict else row.whys.get("human", "")
    against = shortened(verdict.counter_argument, words=_REASON_WORDS) if verdict else ""
    return Card(
        anchor=f"e-{row.pk}",
        role=role,
        role_word=role_word(role),
        title=row.section_title,
        place=place_words(row),
        evidence=shortened(text.anchor, words=PASSAGE_WORDS) if text else erased_words(),
        rows=_filled(
            Row(label=_("Reason"), value=reason),
            Row(label=_("What speaks against it"), value=against),
            Row(label=_("Decided by"), value=str(review.reviewer) if review else _("nobody yet")),
        ),
    )


def _filled(*rows: Row) -> tuple[Row, ...]:
    return tuple(row for row in rows if row.value)


def _decisions(run: Run, rows: list[Candidate], *, with_annex: bool) -> Section:
    """Who decided what: the decisions that stand, the newest first."""
    made = [(row, review) for row in rows if (review := standing_review(row.reviews.all()))]
    made.sort(key=lambda pair: pair[1].created_at, reverse=True)
    cells = [_decision(place_words(row), _machine_word(row), review) for row, review in made]
    word = not_found_review(run=run)
    if word is not None:
        cells.insert(0, _decision(_("the not-found"), _("Not found"), word))
    if not cells:
        return Section(title=_("Who decided"), blocks=(Text(text=_("Nobody has decided yet."), tone="note"),))
    header = (_("Passage"), _("Machine"), _("Decision"), _("By"))
    blocks: list[Block] = [Table(header=header, rows=tuple(cells[:DECISIONS]))]
    if (more := len(cells) - DECISIONS) > 0:
        said = ngettext("%(n)d more decision", "%(n)d more decisions", more)
        blocks.append(_more(said + (_(", in the annex") if with_annex else ""), more))
    return Section(title=_("Who decided"), blocks=tuple(blocks))


def _machine_word(row: Candidate) -> str:
    verdict = verdict_of(row)
    return role_word(verdict.role) if verdict else _("missed it")


def _decision(subject: str, machine: str, review: Review) -> tuple[str, ...]:
    who = f"{review.reviewer}, {moment(review.created_at)}"
    return (subject, machine, shortened(said_words(review), words=_REASON_WORDS), who)


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
    """A passage that a new version changed, by its place."""
    told = {
        "name": change.document.name,
        "number": change.document.version_number,
        "at": moment(change.created_at),
    }
    if change.candidate is None:
        return _("%(at)s: version %(number)d of %(name)s has other text") % told
    told |= {"passage": place_words(change.candidate), "state": change.get_state_display()}
    return _("%(at)s: %(passage)s, %(state)s in version %(number)d of %(name)s") % told


def _whether_it_holds(signature: Signature) -> str:
    """As the page of signatures says it: an erased text is no accusation."""
    if signature_holds(signature=signature):
        return _("Yes: the run still gives the signed record.")
    if record_digest(signature.record) == signature.record_sha256:
        return _(
            "The signed record is intact, but the run no longer matches it: a text was erased, or data "
            "was changed outside the product."
        )
    return _("No: the record is not the one that was signed.")


def _verification(run: Run, rows: Sequence[Candidate], signed_by: str, *, with_annex: bool) -> Section:
    head = head_anchor()
    facts = _filled(
        Row(
            label=_("SHA-256 of the record as it stands"),
            value=record_digest(signed_record(run, list(rows))),
            is_code=True,
        ),
        Row(label=_("Head of the audit chain"), value=head["hash"] if head else "", is_code=True),
        Row(label=_("Place in the chain"), value=str(head["position"]) if head else ""),
        signature_row(signed_by),
    )
    how = _(
        "The record is the run in JSON with every text as its SHA-256, keys sorted, no blanks, in UTF-8. Compute its "
        "SHA-256 and compare it with the one that was signed."
    )
    if with_annex:
        how += " " + _("The events in the annex are links of the audit chain; verify_audit recomputes them.")
    return Section(
        title=_("How to check this record"), blocks=(Facts(rows=facts), Text(text=how, tone="note"))
    )
