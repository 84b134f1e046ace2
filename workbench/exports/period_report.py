"""A period of a collection as a report for an audit committee: what was asked, decided, overridden and signed, what was
not found, how far people agree, what may have been missed, and what it cost."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone, translation
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _

from arbitration.evaluation.intervals import Interval
from workbench.documents.models import Collection
from workbench.review.models import Signature
from workbench.runs.words import spent_words

from .blocks import Block, Facts, Report, Row, Section, Table, Text
from .models import Export
from .period_figures import PeriodFigures, period_figures
from .words import moment, signature_row

#: Signatures listed; the others are counted.
MOST_LISTED = 50


def period_report_of(export: Export, *, signed_by: str = "") -> Report:
    """The report that an export asks for, in the language that is active."""
    assert export.since is not None
    assert export.until is not None
    figures = period_figures(collection=export.collection, since=export.since, until=export.until)
    made = _("Made for %(who)s, %(at)s") % {"who": export.requested_by, "at": moment(timezone.now())}
    return Report(
        kicker=_("Period report"),
        title=export.collection.name,
        language=translation.get_language() or "en",
        facts=Facts(
            rows=(
                Row(label=_("From"), value=moment(export.since)),
                Row(label=_("Until (excluded)"), value=moment(export.until)),
                Row(label=_("Made"), value=made),
                signature_row(signed_by),
            )
        ),
        sections=period_sections(
            figures, collection=export.collection, since=export.since, until=export.until
        ),
        footer=f"{export.collection.name} · {made}",
    )


def period_sections(
    figures: PeriodFigures, *, collection: Collection, since: datetime, until: datetime
) -> tuple[Section, ...]:
    """The figures in words: the page and the files show the same sections."""
    return (
        Section(title=_("Questions"), blocks=(_questions(figures),)),
        Section(title=_("Decisions"), blocks=(_decisions(figures),)),
        Section(title=_("Second reviews and disputes"), blocks=(_second(figures),)),
        Section(title=_("Missed evidence"), blocks=_missed(figures)),
        Section(title=_("Signatures"), blocks=_signed(figures, collection, since, until)),
        Section(title=_("Cost"), blocks=(_cost(figures),)),
        Section(title=_("How to read this"), blocks=(Text(text=_how(), tone="note"),)),
    )


def _facts(*rows: tuple[str, str | int]) -> Facts:
    return Facts(rows=tuple(Row(label=label, value=_number(value)) for label, value in rows))


def _number(value: str | int) -> str:
    return value if isinstance(value, str) else number_format(value, force_grouping=True)


def _questions(figures: PeriodFigures) -> Facts:
    return _facts(
        (_("Questions asked"), figures.asked),
        (_("Finished"), figures.finished),
        (_("Failed"), figures.failed),
        (_("Not found"), figures.not_found),
        (_("Not found, confirmed by a person"), figures.not_found_confirmed),
        (_("Not found, refuted by a person"), figures.not_found_refuted),
    )


def _decisions(figures: PeriodFigures) -> Facts:
    return _facts(
        (_("Passages decided"), figures.decided),
        (_("Approved"), figures.approved),
        (_("Overridden"), figures.overridden),
        (_("Share overridden"), share_words(figures.override_share)),
        (_("Cannot tell"), figures.cannot_tell),
        (_("People who decided"), figures.people),
        (_("Evidence that people added"), figures.evidence_added),
        (_("Decisions open today"), figures.waiting),
    )


def _second(figures: PeriodFigures) -> Facts:
    return _facts(
        (_("Second reviews"), figures.second_reviews),
        (_("Both reviewers agree"), share_words(figures.second_agreement)),
        (_("Disputes"), figures.disputes),
        (_("Disputes decided by a third person"), figures.adjudicated),
        (_("Disputes open today"), figures.disputes_open),
    )


def _missed(figures: PeriodFigures) -> tuple[Block, ...]:
    if not figures.missed:
        said = _("Nobody has sampled discarded passages here, so what was missed is not known.")
        return (Text(text=said, tone="note"),)
    header = (_("Sample"), _("Discarded passages"), _("Judged"), _("Evidence among them"))
    rows = tuple(
        (one.name, _number(one.population), _number(one.rate.n), share_words(one.rate))
        for one in figures.missed
    )
    return (Table(header=header, rows=rows),)


def _signed(
    figures: PeriodFigures, collection: Collection, since: datetime, until: datetime
) -> tuple[Block, ...]:
    facts = _facts((_("Runs signed"), figures.signed), (_("Runs reopened"), figures.reopened))
    signatures = Signature.objects.filter(
        run__collection=collection, signed_at__gte=since, signed_at__lt=until
    ).select_related("run__question")
    header = (_("Run"), _("Question"), _("Signed by"), _("Time"))
    rows = tuple(
        (str(row.run_id), row.run.question.text, row.signer_name, date_format(row.signed_at, "DATE_FORMAT"))
        for row in signatures.order_by("pk")[:MOST_LISTED]
    )
    blocks: tuple[Block, ...] = (facts, Table(header=header, rows=rows)) if rows else (facts,)
    if (more := figures.signed - MOST_LISTED) > 0:
        blocks += (Text(text=_("%(n)d more are not listed.") % {"n": more}, tone="note"),)
    return blocks


def _cost(figures: PeriodFigures) -> Facts:
    spent = figures.spent
    return _facts((_("Language models"), ", ".join(spent_words(spent.calls, spent.usd, spent.unpriced))))


def share_words(share: Interval) -> str:
    """A share in per cent with its interval."""
    if share.value is None or share.low is None or share.high is None:
        return _("none to count")
    numbers = {
        "percent": number_format(100 * share.value, 1),
        "low": number_format(100 * share.low, 1),
        "high": number_format(100 * share.high, 1),
        "n": number_format(share.n, force_grouping=True),
    }
    return _("%(percent)s %% of %(n)s (95 %% interval %(low)s to %(high)s %%)") % numbers


def _how() -> str:
    return _(
        "Days are those of UTC. A decision counts in the period in which it was made, and only while no later one "
        "replaces it. Cards that wait for a blind decision are not counted. Missed evidence is estimated from random "
        "samples of discarded passages that people judged, up to today."
    )
