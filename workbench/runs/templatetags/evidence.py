"""Where evidence stands and what it says, in words: filters, because a page shows them a hundred times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workbench.runs.models import Candidate
from workbench.runs.places import lines_range, lines_short
from workbench.runs.records import anchor_of
from workbench.runs.words import outcome_words, step_words

register = template.Library()
register.filter(lines_range)
register.filter(lines_short)


@register.filter
def place(candidate: Candidate) -> str:
    """Where the passage of a candidate stands: "p. 6, l. 12–18"."""
    return lines_short(anchor_of(candidate))


@register.filter
def titled(breadcrumb: Sequence[str], scope: object) -> str:
    """The section that a passage stands in; where it stands, for one outside all sections."""
    return breadcrumb[-1] if breadcrumb else lines_range(scope)


@register.filter
def marked(parts: Iterable[Mapping[str, Any]]) -> SafeString:
    """Document text with its matches marked. ``parts`` are {text, matched, meets?} in order, ``meets`` the word of the
    question that is met by meaning; never HTML, so hostile text stays text. ``kind``: words that went (``del``) or came
    (``ins``)."""
    return mark_safe("".join([_marked(part) for part in parts]))  # noqa: S308 - escaped


def _marked(part: Mapping[str, Any]) -> str:
    text = conditional_escape(part["text"])
    if kind := part.get("kind"):
        return f"<{kind}>{text}</{kind}>"
    if not part["matched"]:
        return text
    if asked := part.get("meets"):
        title = f"{conditional_escape(asked)} ↔ {text}"
        return f'<mark class="by-meaning" title="{title}">{text}</mark>'
    return f"<mark>{text}</mark>"


#: From here on a probability is called high, and medium.
_HIGH, _MEDIUM = 0.6, 0.3
_EVIDENCE, _NO_EVIDENCE = ("primary", "supporting"), ("tangential", "discarded")

#: Rules by the names under which they are on record.
_RULES = {
    "rules of detection": gettext_lazy("Detection rules"),
    "precedence": gettext_lazy("Precedence rule"),
    "read along": gettext_lazy("Context rule"),
    "pattern and alias match": gettext_lazy("Named place"),
    "absence proved by the exhaustive keyword set": gettext_lazy("Absence check"),
    "prefilter by reciprocal rank fusion": gettext_lazy("Shortlist"),
    "prefilter by the reranker's order": gettext_lazy("Shortlist"),
    "nobody yet": gettext_lazy("nobody yet"),
}


register.filter("step", step_words)
register.filter("call_outcome", outcome_words)


@register.filter
def decider_name(name: str) -> str:
    """What decided, as people call it; a model's name as it is."""
    return str(_RULES.get(name, name))


@register.filter
def likelihood(probability: float, role: str | None = None) -> str:
    """A probability in [0, 1] as people read it: ``17 %, low``. Where it speaks against the role, what it says is that
    the verdict is uncertain: no primary is "low", and nothing discarded is "high"."""
    percent = {"percent": round(100 * probability)}
    against = probability < _MEDIUM if role in _EVIDENCE else role in _NO_EVIDENCE and probability >= _HIGH
    if against:
        return _("%(percent)s %%, uncertain") % percent
    if probability >= _HIGH:
        return _("%(percent)s %%, high") % percent
    return (_("%(percent)s %%, medium") if probability >= _MEDIUM else _("%(percent)s %%, low")) % percent


@register.simple_tag
def line_boxes(lines: Iterable[Mapping[str, Any]]) -> SafeString:
    """A box of an SVG for each line of ``_page_image.html`` that has a place on the page."""
    return mark_safe(  # noqa: S308 - numbers and words of ours
        "".join(
            f'<rect class="box{_kinds("box", line)}" data-line="{line["dom_id"]}" x="{line["x0"]}" '
            f'y="{line["y0"]}" width="{line["width"]}" height="{line["height"]}"/>'
            for line in lines
            if line["x0"] is not None
        )
    )


@register.simple_tag
def line_items(
    lines: Iterable[Mapping[str, Any]], *, page: int | None = None, part: str = "", marked_as: str = ""
) -> SafeString:
    """The lines of ``_page_image.html`` as items of a list: number, text, what is to be known of it. With ``page`` each
    has a checkbox with the value ``page:line``. A page has fifty, beside every card of the queue. ``part`` tells apart
    the lines of two viewers; ``marked_as`` says what a marked line is."""
    number_word, hidden_word, evidence_word = _("line"), _("hidden text"), marked_as or _("evidence")
    before = f"{part}-" if part else ""
    items = []
    for line in lines:
        dom_id, number, notes = line["dom_id"], line["number"], ""
        if line.get("change"):
            notes += f' <span class="badge">{conditional_escape(_change_words(line["change"], line["author"]))}</span>'
        elif line["flag"] == "hidden":
            notes += f' <span class="badge badge--accent">{hidden_word}</span>'
        if line["confidence"] is not None:
            sure = _("recognised, %(n)s %% sure") % {"n": line["confidence"]}
            notes += f' <span class="muted small">{sure}</span>'
        if line["mark"] == "anchor":
            notes += f'<span class="visually-hidden"> ({conditional_escape(evidence_word)})</span>'
        flag = "" if line.get("change") else line["flag"]
        kinds = _kinds("lines__item", line) + _with_kind(" lines__item", flag)
        text = marked(line["parts"]) if line.get("parts") else conditional_escape(line["text"])
        if line.get("change") == "deletion":
            text = f"<s>{text}</s>"
        check = "" if page is None else _line_check(page, number)
        items.append(
            f'<li class="lines__item{kinds}" id="{before}{dom_id}" data-line="{dom_id}">{check}'
            f'<a class="lines__num" href="#{before}{dom_id}">'
            f'<span class="visually-hidden">{number_word} </span>{number}</a>'
            f'<span class="lines__text">{text}{notes}</span></li>'
        )
    return mark_safe("".join(items))  # noqa: S308 - escaped


def _kinds(name: str, line: Mapping[str, Any]) -> str:
    """What a line is beside being one: evidence or its context, a hit, other than in the text beside it."""
    kinds = [line["mark"], "hit" if line.get("hit") else "", "now" if line.get("hit") == "current" else ""]
    kinds.append("differs" if line.get("differs") else "")
    return "".join(_with_kind(f" {name}", kind) for kind in kinds)


def _change_words(mark: str, author: str) -> str:
    """What a tracked change or a comment is, and whose."""
    if not author:
        return {
            "changed": _("tracked change"),
            "insertion": _("inserted"),
            "deletion": _("deleted"),
            "comment": _("comment"),
        }.get(mark, "")
    return {
        "insertion": _("inserted by %(who)s"),
        "deletion": _("deleted by %(who)s"),
        "comment": _("comment by %(who)s"),
    }.get(mark, "") % {"who": author}


def _with_kind(name: str, kind: str) -> str:
    return f"{name}--{kind}" if kind else ""


def _line_check(page: int, number: int) -> str:
    said = conditional_escape(_("Select line %(n)s") % {"n": number})
    box = f'<input type="checkbox" name="line" value="{page}:{number}" aria-label="{said}">'
    return f'<span class="lines__check">{box}</span>'
